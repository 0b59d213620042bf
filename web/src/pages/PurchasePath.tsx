// The parts of a purchase's attribution path: a summary, the credited items, and the touches before it.
import { Alert, Anchor, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";
import type { Credit, Purchase, Touch } from "../api/purchases";
import { useCurrent } from "../api/session";
import { State } from "../ui/Badges";
import { DataTable } from "../ui/DataTable";
import { formatMoney } from "../ui/money";
import { Empty } from "../ui/States";
import { Time } from "../ui/time";

// What the rules of a marketplace say, in the words of its settings.
const rules: Record<string, string> = {
  standard: "7 days for listings, 14 for sponsored brands, 30 for banners; also other products of the vendor",
  reference: "7 days for listings, 14 for sponsored brands, 30 for banners; clicks only except for banners",
  "long-click": "14 days after a click, banners also one day after an impression",
  amazon: "the last click or impression of 14 days; also other products of the vendor",
};

export function PurchasePath({ purchase }: { purchase: Purchase }) {
  return (
    <Stack>
      {purchase.open && (
        <Alert color="blue" title="Not credited yet">
          Purchases are credited some seconds after they arrive, when the clicks before them are known everywhere.
        </Alert>
      )}
      <Text component="div">
        Bought in the hour from <Time at={purchase.hour} />. Rules: <b>{purchase.attribution}</b>
        {rules[purchase.attribution] ? ` (${rules[purchase.attribution]})` : ""}.
      </Text>
      <Title order={2} size="h4">
        Credited items
      </Title>
      <Credits purchase={purchase} />
      <Title order={2} size="h4">
        Clicks and impressions before it
      </Title>
      <Touches purchase={purchase} />
    </Stack>
  );
}

const CampaignLink = ({ id }: { id: string }) => (
  <Anchor component={Link} size="sm" to={`/campaigns/${id}`}>
    campaign
  </Anchor>
);

function Credits({ purchase }: { purchase: Purchase }) {
  const { marketplace } = useCurrent();
  const at = (one: Credit) => purchase.touches[one.touch]?.at;
  return (
    <DataTable<Credit>
      label="Credited items"
      rows={purchase.credits}
      rowKey={(one) => String(one.item)}
      minWidth={820}
      empty={
        <Empty title={purchase.open ? "Nothing is credited yet" : "Nothing was credited"}>
          An item is credited to an ad of its product, or of its vendor where the rules say so.
        </Empty>
      }
      columns={[
        { name: "Item", cell: (one) => one.item + 1 },
        { name: "Product", cell: (one) => one.productId },
        { name: "Quantity", align: "right", cell: (one) => one.quantity },
        { name: "Unit price", align: "right", cell: (one) => formatMoney(one.unitPrice, marketplace) },
        {
          name: "Credited to",
          cell: (one) => (
            <Text size="sm" component="div">
              the {one.kind} of <CampaignLink id={one.campaignId} />
              {at(one) && (
                <>
                  , <Time at={at(one)} format="full" />
                </>
              )}
            </Text>
          ),
        },
        { name: "Rule", cell: (one) => (one.halo ? "same vendor (halo)" : "same product or brand") },
        { name: "Charged", align: "right", cell: (one) => formatMoney(one.charged, marketplace) },
      ]}
    />
  );
}

function Touches({ purchase }: { purchase: Purchase }) {
  const items = (index: number) => purchase.credits.filter((one) => one.touch === index).map((one) => one.item + 1);
  return (
    <>
      <DataTable<Touch>
        label="Clicks and impressions"
        rows={purchase.touches}
        rowKey={(_, index) => String(index)}
        minWidth={820}
        empty={
          purchase.userKnown ? (
            <Empty title="None">The customer saw and clicked no ad of this marketplace before.</Empty>
          ) : (
            <Empty title="The customer is not known">Name the customer above to see what was shown to them.</Empty>
          )
        }
        columns={[
          { name: "Time", cell: (one) => <Time at={one.at} format="full" /> },
          { name: "What", cell: (one) => one.kind },
          { name: "Ad", cell: (one) => <AdOf touch={one} /> },
          { name: "Vendor", cell: (one) => one.vendorId },
          {
            name: "Result",
            cell: (one) => <Result considered={one.considered} items={items(purchase.touches.indexOf(one))} />,
          },
        ]}
      />
      {purchase.more && (
        <Text size="sm" c="dimmed">
          There are older ones, which are not listed.
        </Text>
      )}
    </>
  );
}

const AdOf = ({ touch }: { touch: Touch }) => (
  <Text size="sm" component="div">
    {touch.format.replace(/([A-Z])/g, " $1").toLowerCase()} {touch.productId ?? ""} of{" "}
    <CampaignLink id={touch.campaignId} />
  </Text>
);

function Result({ considered, items }: { considered: boolean; items: number[] }) {
  if (items.length > 0)
    return (
      <Group gap="xs" wrap="nowrap">
        <State of="credited" />
        <Text size="sm">item {items.join(", ")}</Text>
      </Group>
    );
  return (
    <Text size="sm" c="dimmed">
      {considered ? "considered" : "too long ago"}
    </Text>
  );
}
