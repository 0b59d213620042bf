// The vendors of the marketplace: who sells, and so who pays for ads.
import { Anchor, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useState, type FormEvent } from "react";
import { Link, useNavigate } from "react-router";
import { call } from "../api/client";
import { useRead, useWrite } from "../api/query";
import { useCurrent } from "../api/session";
import { DataTable, useCursor } from "../ui/DataTable";
import { FormDialog } from "../ui/Dialog";
import { formatMajor } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";

export default function Vendors() {
  const { canWrite } = useCurrent();
  const cursor = useCursor();
  const navigate = useNavigate();
  const [adding, setAdding] = useState(false);
  const [search, setSearch] = useState("");
  const vendors = useRead(
    "GET /catalog-search-service/catalogs/vendors",
    { query: { limit: 25, next_page: cursor.page } },
    { keep: true },
  );
  const go = (event: FormEvent) => {
    event.preventDefault();
    if (search.trim()) void navigate(`/vendors/${encodeURIComponent(search.trim())}`);
  };
  const add = canWrite && <Button onClick={() => setAdding(true)}>Add vendor</Button>;
  return (
    <Page title="Vendors" about="Those who sell and advertise. Each pays from its wallets." actions={add}>
      <form onSubmit={go}>
        <Group align="flex-end" gap="sm">
          <TextInput
            label="Open a vendor by its id"
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            w={220}
          />
          <Button type="submit" variant="default">
            Open
          </Button>
        </Group>
      </form>
      <DataTable
        label="Vendors"
        rows={vendors.data?.response}
        rowKey={(one) => one.id}
        error={vendors.error}
        retry={() => void vendors.refetch()}
        pager={cursor.pager(vendors.data?.nextPage)}
        empty={
          <Empty title="There are no vendors" action={add}>
            Campaigns belong to vendors, so this comes first.
          </Empty>
        }
        columns={[
          {
            name: "Vendor",
            cell: (one) => (
              <Anchor component={Link} to={`/vendors/${encodeURIComponent(one.id)}`}>
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
          { name: "Wallets", align: "right", cell: (one) => <Balance vendor={one.id} /> },
          { name: "Since", cell: (one) => <Time at={one.createdAt} /> },
        ]}
      />
      <AddVendor opened={adding} close={() => setAdding(false)} />
    </Page>
  );
}

function Balance({ vendor }: { vendor: string }) {
  const { marketplace } = useCurrent();
  const balance = useRead("GET /billing-service/vendors/{vendor_id}/balance", {
    path: { vendor_id: vendor },
    query: { consistency: "local" },
  });
  if (balance.error)
    return (
      <Text span inherit c="dimmed">
        not known
      </Text>
    );
  // To the minor unit, so that the amounts of the column can be compared at a glance.
  return <>{balance.data ? formatMajor(balance.data.balance, marketplace, 0) : "…"}</>;
}

function AddVendor({ opened, close }: { opened: boolean; close: () => void }) {
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const put = useWrite(
    () => call("PUT /catalog-search-service/catalogs/vendors", { body: { vendors: [{ id, name }] } }),
    "/catalog-search-service",
  );
  const leave = () => {
    put.reset();
    close();
  };
  return (
    <FormDialog
      title="Add a vendor"
      opened={opened}
      close={leave}
      submitLabel="Add vendor"
      busy={put.isPending}
      error={put.error}
      submit={() => put.mutate(undefined, { onSuccess: leave })}
    >
      <Stack gap="sm">
        <TextInput
          label="Id"
          description="The storefront's own; an existing vendor is renamed"
          required
          value={id}
          data-autofocus
          onChange={(event) => setId(event.currentTarget.value)}
        />
        <TextInput label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} />
      </Stack>
    </FormDialog>
  );
}
