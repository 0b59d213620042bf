// A campaign's last hours: figures and a chart of spend. Reports count by whole hours of the marketplace's time zone.
import { Paper, Stack, Text, Title } from "@mantine/core";
import { useMemo } from "react";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { Figures } from "../ui/Figures";
import { LazyChart } from "../ui/LazyChart";
import { formatCount, formatMoney } from "../ui/money";
import { Empty, Loaded } from "../ui/States";
import { dayOf, hoursBefore, Time } from "../ui/time";
import { hourRowsOf, sumOf, type Row } from "./reportRows";

interface HoursProps {
  campaign: Schemas["campaign.Campaign"];
  hours: number; // The present one included.
}

export function CampaignHours({ campaign, hours }: HoursProps) {
  const { marketplace } = useCurrent();
  const report = useRead(
    "GET /reporting-service/campaigns/{campaign_id}/hourly",
    {
      path: { campaign_id: campaign.campaignId },
      query: { start_date: dayOf(marketplace.timeZone, -1), end_date: dayOf(marketplace.timeZone), limit: 100 },
    },
    { every: 30_000 },
  );
  const starts = hoursBefore(marketplace.timeZone, hours);
  return (
    <Loaded of={report}>
      {(data) => (
        <Hours rows={hourRowsOf(data.reports, starts)} starts={starts} completeThrough={data.completeThrough} />
      )}
    </Loaded>
  );
}

function Hours({ rows, starts, completeThrough }: { rows: Row[]; starts: number[]; completeThrough: string }) {
  const { marketplace } = useCurrent();
  const sum = sumOf(rows);
  const lines = useMemo(() => {
    const format = (n: number) => formatMoney(Math.round(n), marketplace);
    return [{ label: "Spend", values: rows.map((row) => row.spend), format }];
  }, [rows, marketplace]);
  if (sum.impressions + sum.clicks + sum.purchases === 0)
    return <Empty title="No events in this range">Choose a longer range, or ask the playground why.</Empty>;
  return (
    <Stack>
      <Figures
        of={[
          { label: "Spend", value: formatMoney(sum.spend, marketplace) },
          { label: "Impressions", value: formatCount(sum.impressions) },
          { label: "Clicks", value: formatCount(sum.clicks) },
          { label: "Purchases", value: formatCount(sum.purchases) },
          { label: "Sales", value: formatMoney(sum.sales, marketplace) },
        ]}
      />
      {rows.length > 1 && (
        <Paper withBorder radius="md" p="md">
          <Title order={2} size="h5" mb="xs">
            Spend by hour
          </Title>
          <LazyChart label="Spend by hour" times={starts} lines={lines} timeZone={marketplace.timeZone} />
        </Paper>
      )}
      <Text size="sm" c="dimmed" component="div">
        Complete to <Time at={completeThrough} format="full" />, hours of {marketplace.timeZone}.
      </Text>
    </Stack>
  );
}
