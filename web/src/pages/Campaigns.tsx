// The list of campaigns. The node pages and filters it, so that it stays usable with 100,000 of them.
import { Anchor, Button, Group, Select, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import { Link } from "react-router";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent, type SessionMarketplace } from "../api/session";
import { useAddressState } from "../ui/address";
import { State } from "../ui/Badges";
import { DataTable, Pager } from "../ui/DataTable";
import { Share } from "../ui/Figures";
import { formatMoney } from "../ui/money";
import { Page } from "../ui/Page";
import { SavedViews } from "../ui/SavedViews";
import { Empty } from "../ui/States";
import { CampaignSwitch } from "./CampaignSwitch";
import { CreateBanner } from "./CreateBanner";
import { CreateCampaign } from "./CreateCampaign";
import { planOf } from "./plan";

type Campaign = Schemas["campaign.Campaign"];

const pageSize = 25;
const filters = ["vendor", "status", "format", "active"];

export default function Campaigns() {
  const { marketplace, canWrite, vendorId } = useCurrent();
  const [page, setPage] = useAddressState("page", "1");
  const [vendor, setVendor] = useAddressState("vendor", "");
  const [status, setStatus] = useAddressState("status", "");
  const [format, setFormat] = useAddressState("format", "");
  const [active, setActive] = useAddressState("active", "");
  const [creating, setCreating] = useState(false);
  const [banner, setBanner] = useState(false);
  const [vendorText, setVendorText] = useState(vendor); // As it is typed; the address follows.
  const number = Math.max(1, Number(page) || 1);
  const campaigns = useRead(
    "GET /campaign-service/campaigns",
    {
      query: {
        vendor_id: vendorId ?? (vendor || undefined),
        status: (status || undefined) as Campaign["status"] | undefined,
        ad_format: (format || undefined) as "listing" | undefined,
        is_active: active ? active === "yes" : undefined,
        limit: pageSize,
        offset: (number - 1) * pageSize,
      },
    },
    { keep: true, every: 15_000 },
  );
  const filtered = Boolean(vendor || status || format || active);
  const typeVendor = useDebouncedCallback((text: string) => setVendor(text, ["page"]), 300);
  const create = canWrite && <Button onClick={() => setCreating(true)}>Create campaign</Button>;

  return (
    <Page
      title="Campaigns"
      actions={
        <>
          <SavedViews list="campaigns" members={filters} opened={(query) => setVendorText(query.get("vendor") ?? "")} />
          {canWrite && !vendorId && (
            <Button variant="default" onClick={() => setBanner(true)}>
              Create banner campaign
            </Button>
          )}
          {create}
        </>
      }
    >
      <Group gap="sm" align="flex-end">
        {!vendorId && (
          <TextInput
            label="Vendor"
            placeholder="Vendor id"
            value={vendorText}
            onChange={(event) => {
              setVendorText(event.currentTarget.value);
              typeVendor(event.currentTarget.value);
            }}
            w={150}
          />
        )}
        <Select
          label="Status"
          placeholder="All"
          clearable
          w={150}
          value={status || null}
          onChange={(value) => setStatus(value ?? "", ["page"])}
          data={["pending", "approved", "rejected", "terminated"]}
        />
        <Select
          label="Format"
          placeholder="All"
          clearable
          w={170}
          value={format || null}
          onChange={(value) => setFormat(value ?? "", ["page"])}
          data={[
            { value: "listing", label: "listing" },
            { value: "banner", label: "banner" },
            { value: "sponsored_brand", label: "sponsored brand" },
          ]}
        />
        <Select
          label="Active"
          placeholder="All"
          clearable
          w={120}
          value={active || null}
          onChange={(value) => setActive(value ?? "", ["page"])}
          data={[
            { value: "yes", label: "active" },
            { value: "no", label: "paused" },
          ]}
        />
      </Group>
      <DataTable
        label="Campaigns"
        minWidth={980}
        rows={campaigns.data?.campaigns}
        rowKey={(one) => one.campaignId}
        error={campaigns.error}
        retry={() => void campaigns.refetch()}
        pager={
          (number > 1 || campaigns.data?.hasMore) && (
            <Pager
              label={`Page ${number}`}
              previous={number > 1 ? () => setPage(String(number - 1)) : undefined}
              next={campaigns.data?.hasMore ? () => setPage(String(number + 1)) : undefined}
            />
          )
        }
        empty={
          filtered ? (
            <Empty
              title="No campaign fits the filter"
              action={
                <ClearFilters
                  clear={() => {
                    setVendorText("");
                    setVendor("", [...filters, "page"]);
                  }}
                />
              }
            />
          ) : (
            <Empty title="There are no campaigns" action={create}>
              A campaign bids on products with a budget. Without one, auctions have no winners.
            </Empty>
          )
        }
        columns={[
          {
            name: "Campaign",
            cell: (one) => (
              <Anchor component={Link} to={`/campaigns/${one.campaignId}`}>
                {one.name}
              </Anchor>
            ),
          },
          ...(vendorId
            ? []
            : [
                {
                  name: "Vendor",
                  cell: (one: Campaign) => (
                    <Anchor component={Link} to={`/vendors/${encodeURIComponent(one.vendorId)}`}>
                      {one.vendorId}
                    </Anchor>
                  ),
                },
              ]),
          { name: "Format", cell: (one) => one.adFormat.replaceAll("_", " ") },
          { name: "Status", cell: (one) => <State of={statusOf(one)} /> },
          { name: "Spend of the budget", cell: (one) => <Spend of={one} currency={marketplace} /> },
          {
            name: "Pacing",
            cell: (one) =>
              one.pacingState ? (
                <State of={one.pacingState.status} />
              ) : (
                <Text span c="dimmed" size="sm">
                  no decision yet
                </Text>
              ),
          },
          { name: "Bids", align: "right", cell: (one) => one.bidCount.toLocaleString() },
          { name: "Active", cell: (one) => <CampaignSwitch campaign={one} /> },
        ]}
      />
      {banner && <CreateBanner close={() => setBanner(false)} />}
      <CreateCampaign opened={creating} close={() => setCreating(false)} />
    </Page>
  );
}

const ClearFilters = ({ clear }: { clear: () => void }) => (
  <Button variant="default" onClick={clear}>
    Clear the filter
  </Button>
);

// statusOf is one word for the review and the switch together.
export const statusOf = (one: Campaign) =>
  one.status === "approved" ? (one.isActive ? "active" : "paused") : one.status;

export function Spend({ of, currency }: { of: Campaign; currency: SessionMarketplace }) {
  if (!of.budget)
    return (
      <Text span size="sm" c="dimmed">
        no limit
      </Text>
    );
  const { amount, amountUsed, amountCarryover, type } = of.budget;
  return (
    <Share
      part={amountUsed}
      whole={amount + amountCarryover}
      plan={planOf(of, currency.timeZone)}
      label={`Spend of the budget of ${of.name}`}
    >
      <span className="figures">{formatMoney(amountUsed, currency)}</span>
      <Text span inherit c="dimmed">
        of {formatMoney(amount, currency)} {type}
      </Text>
    </Share>
  );
}
