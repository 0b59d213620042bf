// The overview: what runs now, what the last weeks brought, and what needs a person.
import { Group, Paper, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { useMemo, useState } from "react";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { Figures } from "../ui/Figures";
import { LazyChart } from "../ui/LazyChart";
import { formatCount, formatMoney, formatShare, type Currency } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty, Loaded } from "../ui/States";
import { dayOf, Time } from "../ui/time";
import { Attention } from "./Attention";
import { LiveRates } from "./LiveRates";

type Day = Schemas["report.TotalDay"];

export default function Overview() {
  const { session, marketplace, vendorId } = useCurrent();
  const [days, setDays] = useState("30");
  const range = { start_date: dayOf(marketplace.timeZone, 1 - Number(days)), end_date: dayOf(marketplace.timeZone) };
  const all = useRead("GET /reporting-service/marketplace/daily", { query: { ...range, limit: 100 } }, { enabled: !vendorId, every: 30_000 });
  const own = useRead(
    "GET /reporting-service/vendors/{vendor_id}/daily", { path: { vendor_id: vendorId ?? "" }, query: { ...range, limit: 100 } },
    { enabled: vendorId !== undefined, every: 30_000 },
  );
  const report = vendorId ? own : all;
  return (
    <Page
      title={vendorId ? `Overview of ${vendorId}` : `Overview of ${marketplace.name}`}
      about={session.demo ? "This node shows demo data: a generated market with simulated shoppers." : undefined}
      actions={(
        <SegmentedControl
          aria-label="Range" size="xs" value={days} onChange={setDays}
          data={[{ value: "1", label: "Today" }, { value: "7", label: "7 days" }, { value: "30", label: "30 days" }]}
        />
      )}
    >
      {!vendorId && <LiveRates />}
      <Loaded of={report}>
        {(data) => <Performance days={data.reports} completeThrough={data.completeThrough} currency={marketplace} zone={marketplace.timeZone} />}
      </Loaded>
      <Attention />
    </Page>
  );
}

interface PerformanceProps {
  days: Day[];
  completeThrough: string;
  currency: Currency;
  zone: string;
}

// spendOf is exact, because amounts are integers.
export const spendOf = (day: Day) => day.clicks.adSpent + day.impressions.adSpent;

function Performance({ days, completeThrough, currency, zone }: PerformanceProps) {
  const ordered = useMemo(() => [...days].sort((a, b) => a.date.localeCompare(b.date)), [days]);
  const sum = (of: (day: Day) => number) => ordered.reduce((total, day) => total + of(day), 0);
  const impressions = sum((day) => day.impressions.total);
  const clicks = sum((day) => day.clicks.total);
  const times = useMemo(() => ordered.map((day) => Date.parse(`${day.date}T12:00:00Z`) / 1_000), [ordered]);
  const lines = useMemo(() => [
    { label: "Spend", values: ordered.map(spendOf), format: (n: number) => formatMoney(Math.round(n), currency) },
    { label: "Sales", values: ordered.map((day) => day.purchases.amount), format: (n: number) => formatMoney(Math.round(n), currency) },
  ], [ordered, currency]);
  if (impressions + clicks === 0 && sum((day) => day.purchases.count) === 0) {
    return (
      <Empty title="No events in this range">
        Auctions without events bill nothing. Report impressions, clicks and purchases to <b>/v2/events</b>.
      </Empty>
    );
  }
  return (
    <Stack>
      <Figures of={[
        { label: "Spend", value: formatMoney(sum(spendOf), currency) },
        { label: "Impressions", value: formatCount(impressions) },
        { label: "Clicks", value: formatCount(clicks), note: impressions > 0 ? `${formatShare(clicks / impressions, 2)} of impressions` : undefined },
        { label: "Purchases", value: formatCount(sum((day) => day.purchases.count)) },
        { label: "Sales", value: formatMoney(sum((day) => day.purchases.amount), currency) },
      ]} />
      {ordered.length > 1 && (
        <Paper withBorder radius="md" p="md">
          <Title order={2} size="h5" mb="xs">Spend and sales by day</Title>
          <LazyChart label="Spend and sales by day" times={times} lines={lines} timeZone="UTC" />
        </Paper>
      )}
      <Group gap={4}>
        <Text size="sm" c="dimmed" component="div">Complete to <Time at={completeThrough} format="full" />, days of {zone}.</Text>
      </Group>
    </Stack>
  );
}
