// What a campaign adds: users who see it beside those held out, and how much more often they buy.
import { Alert, Stack, Text, Title } from "@mantine/core";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { DataTable } from "../ui/DataTable";
import { Figures } from "../ui/Figures";
import { liftFigure } from "../ui/lift";
import { counted, formatCount, formatMoney, formatShare, type Currency } from "../ui/money";
import { Loaded } from "../ui/States";
import { Time } from "../ui/time";

type Incrementality = Schemas["report.Incrementality"];
type UserGroup = Schemas["report.Group"];

interface IncrementalityProps {
  campaign: Schemas["campaign.Campaign"];
  range: { start_date: string; end_date: string };
  title: string;
}

// CampaignIncrementality is read once: the node reads all purchases of the users for it.
export function CampaignIncrementality({ campaign, range, title }: IncrementalityProps) {
  const { marketplace } = useCurrent();
  const report = useRead(
    "GET /reporting-service/campaigns/{campaign_id}/incrementality",
    { path: { campaign_id: campaign.campaignId }, query: range },
    { enabled: campaign.holdoutPercent > 0 },
  );
  if (campaign.holdoutPercent === 0) return null; // The node compares nobody then.
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        {title}
      </Title>
      <Loaded of={report}>{(data) => <Comparison of={data} currency={marketplace} />}</Loaded>
    </Stack>
  );
}

function Comparison({ of, currency }: { of: Incrementality; currency: Currency }) {
  return (
    <Stack gap="sm">
      <Text size="sm">{of.conclusion}</Text>
      <Figures of={[liftOf("Lift of buyers", of.buyersLift), liftOf("Lift of sales", of.amountLift)]} />
      <DataTable
        label="Users who see the campaign and those held out"
        rows={measures(currency)}
        rowKey={([name]) => name}
        empty={null}
        minWidth={320}
        columns={[
          { name: "Of each group", cell: ([name]) => name },
          { name: "Shown", align: "right", cell: ([, measure]) => measure(of.shown) },
          { name: "Held out", align: "right", cell: ([, measure]) => measure(of.heldOut) },
        ]}
      />
      {of.incomplete && (
        <Alert color="orange">
          On some day there were more users than a group of nodes stores. Those left out are so in both groups alike.
        </Alert>
      )}
      <Text size="sm" c="dimmed" component="div">
        {of.holdoutPercent} % of the users never see the campaign, and as many of the others are compared with them.
        Purchases count for {of.windowDays} days after the first auction that the campaign won, or would have won, for a
        user
        {of.openUsers > 0 && `; they are not over for ${counted(of.openUsers, "user")}`}. Complete to{" "}
        <Time at={of.completeThrough} format="full" />.
      </Text>
    </Stack>
  );
}

// measures are the rows of the table: what is known of a group, and how it is written.
const measures = (currency: Currency): [string, (of: UserGroup) => string][] => [
  ["Users", (of) => formatCount(of.users)],
  [
    "Buyers",
    (of) => `${formatCount(of.buyers)}${of.users > 0 ? ` (${formatShare(of.buyers / of.users, 2)})` : ""}`,
  ],
  ["Purchases", (of) => formatCount(of.purchases)],
  ["Pieces", (of) => formatCount(of.quantity)],
  ["Sales", (of) => formatMoney(of.amount, currency)],
];

const liftOf = (label: string, lift: Schemas["report.Lift"]) =>
  liftFigure(label, lift, "those held out have bought nothing", "no interval: it needs 30 buyers in each group");
