// The overview: what runs now, what the last weeks brought, and what needs a person.
import { Paper, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { useMemo, useState } from "react";
import { useRead } from "../api/query";
import { useCurrent } from "../api/session";
import { Figures } from "../ui/Figures";
import { LazyChart } from "../ui/LazyChart";
import { formatCount, formatMoney, formatShare, type Currency } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty, Loaded } from "../ui/States";
import { dayOf, daysBetween, noonOf, Time } from "../ui/time";
import { Attention } from "./Attention";
import { ClusterHealth } from "./ClusterHealth";
import { LiveRates } from "./LiveRates";
import { rowsOf, sumOf, type Row } from "./reportRows";

export default function Overview() {
  const { session, marketplace, role, vendorId } = useCurrent();
  const [days, setDays] = useState("30");
  const range = { start_date: dayOf(marketplace.timeZone, 1 - Number(days)), end_date: dayOf(marketplace.timeZone) };
  const all = useRead(
    "GET /reporting-service/marketplace/daily",
    { query: { ...range, limit: 100 } },
    { enabled: !vendorId, every: 30_000 },
  );
  const own = useRead(
    "GET /reporting-service/vendors/{vendor_id}/daily",
    { path: { vendor_id: vendorId ?? "" }, query: { ...range, limit: 100 } },
    { enabled: vendorId !== undefined, every: 30_000 },
  );
  const report = vendorId ? own : all;
  return (
    <Page
      title={vendorId ? `Overview of ${vendorId}` : `Overview of ${marketplace.name}`}
      about={session.demo ? "This node shows demo data: a generated market with simulated shoppers." : undefined}
      actions={
        <SegmentedControl
          aria-label="Range"
          size="xs"
          value={days}
          onChange={setDays}
          data={[
            { value: "1", label: "Today" },
            { value: "7", label: "7 days" },
            { value: "30", label: "30 days" },
          ]}
        />
      }
    >
      {!vendorId && <LiveRates />}
      {role === "admin" && <ClusterHealth />}
      <Loaded of={report}>
        {(data) => (
          <Performance
            rows={rowsOf(data.reports, daysBetween(range.start_date, range.end_date))}
            completeThrough={data.completeThrough}
            currency={marketplace}
            zone={marketplace.timeZone}
          />
        )}
      </Loaded>
      <Attention />
    </Page>
  );
}

interface PerformanceProps {
  rows: Row[];
  completeThrough: string;
  currency: Currency;
  zone: string;
}

function Performance({ rows, completeThrough, currency, zone }: PerformanceProps) {
  const sum = sumOf(rows);
  const times = useMemo(() => rows.map((row) => noonOf(row.name)), [rows]);
  const lines = useMemo(
    () => [
      {
        label: "Spend",
        values: rows.map((row) => row.spend),
        format: (n: number) => formatMoney(Math.round(n), currency),
      },
      {
        label: "Sales",
        values: rows.map((row) => row.sales),
        format: (n: number) => formatMoney(Math.round(n), currency),
      },
    ],
    [rows, currency],
  );
  if (sum.impressions + sum.clicks + sum.purchases === 0) {
    return (
      <Empty title="No events in this range">
        Auctions without events bill nothing. Report impressions, clicks and purchases to <b>/v2/events</b>.
      </Empty>
    );
  }
  return (
    <Stack>
      <Figures
        of={[
          { label: "Spend", value: formatMoney(sum.spend, currency) },
          { label: "Impressions", value: formatCount(sum.impressions) },
          {
            label: "Clicks",
            value: formatCount(sum.clicks),
            note: sum.impressions > 0 ? `${formatShare(sum.clicks / sum.impressions, 2)} of impressions` : undefined,
          },
          { label: "Purchases", value: formatCount(sum.purchases) },
          { label: "Sales", value: formatMoney(sum.sales, currency) },
        ]}
      />
      {rows.length > 1 && (
        <Paper withBorder radius="md" p="md">
          <Title order={2} size="h5" mb="xs">
            Spend and sales by day
          </Title>
          <LazyChart label="Spend and sales by day" times={times} lines={lines} timeZone="UTC" />
        </Paper>
      )}
      <Text size="sm" c="dimmed" component="div">
        Complete to <Time at={completeThrough} format="full" />, days of {zone}.
      </Text>
    </Stack>
  );
}
