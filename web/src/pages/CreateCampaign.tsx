// Creates a listing campaign: the products of a vendor, one bid for all of them, and a budget.
import { Select, SimpleGrid, TagsInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { useNavigate } from "react-router";
import { useRead, useWrite } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { FormDialog } from "../ui/Dialog";
import { parseMoney } from "../ui/money";
import { createCampaign } from "./campaignChanges";

type Body = Schemas["campaign.Body"];

const productsMax = 100; // BOUND: products of one form; programs send more through the API.

export function CreateCampaign({ opened, close }: { opened: boolean; close: () => void }) {
  const { marketplace, vendorId } = useCurrent();
  const navigate = useNavigate();
  const [vendor, setVendor] = useState(vendorId ?? "");
  const [name, setName] = useState("");
  const [products, setProducts] = useState<string[]>([]);
  const [bid, setBid] = useState("0.35");
  const [budget, setBudget] = useState("20");
  const [period, setPeriod] = useState("daily");
  const [pacing, setPacing] = useState("even");
  const own = useRead(
    "GET /catalog-search-service/catalogs/products",
    { query: { vendor_id: vendor, limit: 100 } },
    { enabled: opened && vendor !== "" },
  );
  const create = useWrite((body: Body) => createCampaign(vendor, body, vendorId), "/campaign-service/campaigns");

  const bidMinor = parseMoney(bid, marketplace);
  const budgetMinor = parseMoney(budget, marketplace);
  const wrong = `An amount in ${marketplace.currencyCode} with at most ${marketplace.currencyExponent} decimals`;
  const leave = () => {
    create.reset();
    close();
  };
  const submit = () => {
    if (bidMinor === undefined || budgetMinor === undefined) return;
    create.mutate(
      {
        name,
        campaignType: "manual",
        adFormat: "listing",
        pacing: pacing as "even",
        budget: { amount: budgetMinor, type: period as "daily" },
        bids: products.map((id) => ({ target: { type: "product" as const, id }, amount: bidMinor })),
      },
      {
        onSuccess: (id) => {
          leave();
          void navigate(`/campaigns/${id}`);
        },
      },
    );
  };
  return (
    <FormDialog
      title="Create a listing campaign"
      size="lg"
      opened={opened}
      close={leave}
      submit={submit}
      submitLabel="Create campaign"
      busy={create.isPending}
      error={create.error}
    >
      {!vendorId && (
        <TextInput
          label="Vendor"
          required
          placeholder="Vendor id"
          value={vendor}
          onChange={(e) => setVendor(e.currentTarget.value)}
          data-autofocus
        />
      )}
      <TextInput
        label="Name"
        required
        value={name}
        maxLength={255}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TagsInput
        label="Products"
        required={products.length === 0}
        placeholder="Product ids"
        value={products}
        onChange={setProducts}
        maxTags={productsMax}
        data={(own.data?.response ?? []).map((product) => product.id)}
        splitChars={[",", " "]}
        clearable
        description={
          own.data && own.data.response.length === 0 ? "This vendor has no products in the catalog." : undefined
        }
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label={`Bid per click (${marketplace.currencyCode})`}
          inputMode="decimal"
          required
          value={bid}
          error={bidMinor === undefined ? wrong : undefined}
          onChange={(event) => setBid(event.currentTarget.value)}
        />
        <TextInput
          label={`Budget (${marketplace.currencyCode})`}
          inputMode="decimal"
          required
          value={budget}
          error={budgetMinor === undefined ? wrong : undefined}
          onChange={(event) => setBudget(event.currentTarget.value)}
        />
        <Select
          label="Budget period"
          value={period}
          onChange={(value) => setPeriod(value ?? "daily")}
          allowDeselect={false}
          data={vendorId ? ["daily", "weekly", "monthly"] : ["daily", "weekly", "monthly", "total"]}
        />
        {!vendorId && (
          <Select
            label="Pacing"
            value={pacing}
            onChange={(value) => setPacing(value ?? "even")}
            allowDeselect={false}
            data={[
              { value: "even", label: "even over the day" },
              { value: "asap", label: "as soon as possible" },
            ]}
          />
        )}
      </SimpleGrid>
    </FormDialog>
  );
}
