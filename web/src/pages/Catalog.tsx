// The catalog: products and categories as the storefront's programs sent them, and a form for one product.
import {
  Anchor,
  Button,
  Group,
  Modal,
  NumberInput,
  SimpleGrid,
  Stack,
  Switch,
  Tabs,
  TagsInput,
  Text,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { useAddressState } from "../ui/address";
import { State } from "../ui/Badges";
import { Identifier, Json } from "../ui/Copy";
import { DataTable, useCursor } from "../ui/DataTable";
import { FormDialog } from "../ui/Dialog";
import { formatMajor } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";

type Product = Schemas["catalog.Product"];

export default function Catalog() {
  const { canWrite } = useCurrent();
  const [tab, setTab] = useAddressState("tab", "products");
  const [adding, setAdding] = useState(false);
  return (
    <Page
      title="Catalog"
      about="What can be advertised. The storefront's programs keep it up to date through the API."
      actions={canWrite && <Button onClick={() => setAdding(true)}>Add product</Button>}
    >
      <Tabs value={tab} onChange={(value) => setTab(value ?? "products")} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="products">Products</Tabs.Tab>
          <Tabs.Tab value="categories">Categories</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="products" pt="md">
          <Products />
        </Tabs.Panel>
        <Tabs.Panel value="categories" pt="md">
          <Categories />
        </Tabs.Panel>
      </Tabs>
      <AddProduct opened={adding} close={() => setAdding(false)} />
    </Page>
  );
}

function Products() {
  const { marketplace } = useCurrent();
  const cursor = useCursor();
  const [id, setId] = useState("");
  const [vendor, setVendor] = useState("");
  const [asked, setAsked] = useState({ id: "", vendor: "" });
  const [picked, setPicked] = useState<Product | null>(null);
  const products = useRead(
    "GET /catalog-search-service/catalogs/products",
    {
      query: {
        limit: 25,
        next_page: cursor.page,
        ...(asked.id ? { ids: [asked.id] } : {}),
        ...(asked.vendor ? { vendor_id: asked.vendor } : {}),
      },
    },
    { keep: true },
  );
  const search = (event: React.FormEvent) => {
    event.preventDefault();
    cursor.reset();
    setAsked({ id: id.trim(), vendor: vendor.trim() });
  };
  return (
    <Stack>
      <form onSubmit={search}>
        <Group align="flex-end" gap="sm">
          <TextInput label="Product id" value={id} onChange={(event) => setId(event.currentTarget.value)} w={180} />
          <TextInput
            label="Vendor id"
            value={vendor}
            onChange={(event) => setVendor(event.currentTarget.value)}
            w={180}
          />
          <Button type="submit" variant="default">
            Search
          </Button>
        </Group>
      </form>
      <DataTable
        label="Products"
        rows={products.data?.response}
        rowKey={(one) => one.id}
        error={products.error}
        retry={() => void products.refetch()}
        minWidth={860}
        pager={cursor.pager(products.data?.nextPage)}
        empty={
          asked.id || asked.vendor ? (
            <Empty title="No product fits the search">Identifiers are compared exactly.</Empty>
          ) : (
            <Empty title="The catalog is empty">
              Add a product here, or send the catalog with PUT /public/v1/catalog-search-service/catalogs/products.
            </Empty>
          )
        }
        columns={[
          {
            name: "Product",
            cell: (one) => (
              <Anchor component="button" type="button" ta="left" onClick={() => setPicked(one)}>
                {one.name}
              </Anchor>
            ),
          },
          {
            name: "Id",
            cell: (one) => (
              <Text size="sm" ff="monospace">
                {one.id}
              </Text>
            ),
          },
          { name: "Vendors", cell: (one) => <Vendors of={one.vendors} /> },
          {
            name: "Categories",
            cell: (one) => (
              <Text size="sm" lineClamp={1}>
                {one.categories.join(", ")}
              </Text>
            ),
          },
          {
            name: "Price",
            align: "right",
            cell: (one) => (one.price === undefined ? "–" : formatMajor(one.price, marketplace)),
          },
          { name: "State", cell: (one) => <State of={one.active === false ? "inactive" : "active"} /> },
        ]}
      />
      <Modal
        opened={picked !== null}
        onClose={() => setPicked(null)}
        title={picked?.name}
        size="lg"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {picked && <ProductFacts product={picked} />}
      </Modal>
    </Stack>
  );
}

// ProductFacts shows a product in words, and below them all that is stored, as programs see it.
function ProductFacts({ product }: { product: Product }) {
  const { marketplace } = useCurrent();
  const facts: [string, React.ReactNode][] = [
    ["Id", <Identifier key="id" value={product.id} length={40} />],
    ["State", <State key="state" of={product.active === false ? "inactive" : "active"} />],
    ["Price", product.price === undefined ? "unknown" : formatMajor(product.price, marketplace)],
    ["Quality", product.quality_score ?? "not set, which counts as 1"],
    ["Vendors", product.vendors.length > 0 ? <Vendors key="vendors" of={product.vendors} /> : "none"],
    ["Categories", product.categories.join(", ") || "none"],
    ["Added", <Time key="created" at={product.createdAt} format="full" />],
    ["Changed", <Time key="updated" at={product.updatedAt} format="full" />],
  ];
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {facts.map(([name, value]) => (
          <Stack key={name} gap={2}>
            <Text size="sm" c="dimmed">
              {name}
            </Text>
            <Text component="div" style={{ overflowWrap: "anywhere" }}>
              {value}
            </Text>
          </Stack>
        ))}
      </SimpleGrid>
      <Json label="As programs see it" value={product} />
    </Stack>
  );
}

function Vendors({ of }: { of: string[] }) {
  return (
    <Group gap={6}>
      {of.slice(0, 3).map((id) => (
        <Anchor key={id} component={Link} size="sm" to={`/vendors/${encodeURIComponent(id)}`}>
          {id}
        </Anchor>
      ))}
      {of.length > 3 && (
        <Text size="sm" c="dimmed">
          and {of.length - 3} more
        </Text>
      )}
    </Group>
  );
}

function Categories() {
  const cursor = useCursor();
  const categories = useRead(
    "GET /catalog-search-service/catalogs/categories",
    { query: { limit: 25, next_page: cursor.page } },
    { keep: true },
  );
  return (
    <DataTable
      label="Categories"
      rows={categories.data?.response}
      rowKey={(one) => one.id}
      error={categories.error}
      retry={() => void categories.refetch()}
      pager={cursor.pager(categories.data?.nextPage)}
      empty={<Empty title="There are no categories">Products may name categories; auctions ask for them.</Empty>}
      columns={[
        { name: "Category", cell: (one) => one.name },
        {
          name: "Id",
          cell: (one) => (
            <Text size="sm" ff="monospace">
              {one.id}
            </Text>
          ),
        },
        { name: "Parent", cell: (one) => one.parentId ?? "–" },
        { name: "Changed", cell: (one) => <Time at={one.updatedAt} /> },
      ]}
    />
  );
}

function AddProduct({ opened, close }: { opened: boolean; close: () => void }) {
  const { marketplace } = useCurrent();
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const [vendors, setVendors] = useState<string[]>([]);
  const [categories, setCategories] = useState<string[]>([]);
  const [price, setPrice] = useState<string | number>("");
  const [active, setActive] = useState(true);
  const put = useWrite(
    (product: Schemas["catalog.ProductBody"]) =>
      call("PUT /catalog-search-service/catalogs/products", { body: { products: [product] } }),
    "/catalog-search-service",
  );
  const leave = () => {
    put.reset();
    close();
  };
  const submit = () =>
    put.mutate(
      { id, name, vendors, categories, active, ...(price === "" ? {} : { price: Number(price) }) },
      { onSuccess: leave },
    );
  return (
    <FormDialog
      title="Add a product"
      opened={opened}
      close={leave}
      submit={submit}
      submitLabel="Add product"
      busy={put.isPending}
      error={put.error}
    >
      <TextInput
        label="Id"
        description="The storefront's own; an existing product is replaced"
        required
        value={id}
        data-autofocus
        onChange={(event) => setId(event.currentTarget.value)}
      />
      <TextInput label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <TagsInput
        label="Vendors"
        placeholder="Vendor ids"
        value={vendors}
        onChange={setVendors}
        splitChars={[",", " "]}
      />
      <TagsInput
        label="Categories"
        placeholder="Category ids"
        value={categories}
        onChange={setCategories}
        splitChars={[",", " "]}
      />
      <NumberInput
        label={`Price (${marketplace.currencyCode})`}
        value={price}
        onChange={setPrice}
        min={0}
        decimalScale={marketplace.currencyExponent}
      />
      <Switch label="Active" checked={active} onChange={(event) => setActive(event.currentTarget.checked)} />
    </FormDialog>
  );
}
