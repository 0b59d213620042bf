// The overview: what runs now, what the last weeks brought, and what needs a person.
import { Paper, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { useMemo } from "react";
import { useRead } from "../api/query";
import { useCurrent } from "../api/session";
import { Figures } from "../ui/Figures";
import { LazyChart } from "../ui/LazyChart";
import { formatCount, formatMoney, formatShare } from "../ui/money";
import { Page } from "../ui/Page";
import { Empty, Loaded } from "../ui/States";
import { dayOf, daysBetween, hoursBefore, noonOf, Time } from "../ui/time";
import { Attention } from "./Attention";
import { ClusterHealth } from "./ClusterHealth";
import { LiveRates } from "./LiveRates";
import { rangeChoices, useRange } from "./ranges";
import { hourRowsOf, rowsOf, sumOf, type Row } from "./reportRows";

export default function Overview() {
  const { session, marketplace, vendorId } = useCurrent();
  const [range, setRange] = useRange();
  return (
    <Page
      title={vendorId ? `Overview of ${vendorId}` : `Overview of ${marketplace.name}`}
      about={session.demo ? "This node shows demo data: a generated market with simulated shoppers." : undefined}
      actions={<SegmentedControl aria-label="Range" size="xs" value={range.value} onChange={setRange} data={rangeChoices} />}
    >
      <Present />
      {range.hours ? <LastHours hours={range.hours} /> : <LastDays days={range.days} />}
      <Attention />
    </Page>
  );
}

// Present shows what is not of a range.
function Present() {
  const { role, vendorId } = useCurrent();
  return (
    <>
      {!vendorId && <LiveRates />}
      {role === "admin" && <ClusterHealth />}
    </>
  );
}

function LastDays({ days }: { days: number }) {
  const { marketplace, vendorId } = useCurrent();
  const range = { start_date: dayOf(marketplace.timeZone, 1 - days), end_date: dayOf(marketplace.timeZone) };
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
  const dates = daysBetween(range.start_date, range.end_date);
  return (
    <Loaded of={vendorId ? own : all}>
      {(data) => (
        <Performance
          rows={rowsOf(data.reports, dates)}
          times={dates.map(noonOf)}
          by="day"
          chartZone="UTC"
          completeThrough={data.completeThrough}
        />
      )}
    </Loaded>
  );
}

function LastHours({ hours }: { hours: number }) {
  const { marketplace, vendorId } = useCurrent();
  const query = { start_date: dayOf(marketplace.timeZone, -1), end_date: dayOf(marketplace.timeZone), limit: 100 };
  const all = useRead("GET /reporting-service/marketplace/hourly", { query }, { enabled: !vendorId, every: 30_000 });
  const own = useRead(
    "GET /reporting-service/vendors/{vendor_id}/hourly",
    { path: { vendor_id: vendorId ?? "" }, query },
    { enabled: vendorId !== undefined, every: 30_000 },
  );
  const starts = hoursBefore(marketplace.timeZone, hours);
  return (
    <Loaded of={vendorId ? own : all}>
      {(data) => (
        <Performance
          rows={hourRowsOf(data.reports, starts)}
          times={starts}
          by="hour"
          chartZone={marketplace.timeZone}
          completeThrough={data.completeThrough}
        />
      )}
    </Loaded>
  );
}

interface PerformanceProps {
  rows: Row[];
  times: number[]; // Of the rows, in Unix seconds.
  by: "day" | "hour";
  chartZone: string;
  completeThrough: string;
}

function Performance({ rows, times, by, chartZone, completeThrough }: PerformanceProps) {
  const { marketplace: currency } = useCurrent();
  const sum = sumOf(rows);
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
            Spend and sales by {by}
          </Title>
          <LazyChart label={`Spend and sales by ${by}`} times={times} lines={lines} timeZone={chartZone} />
        </Paper>
      )}
      <Text size="sm" c="dimmed" component="div">
        Complete to <Time at={completeThrough} format="full" />, {by}s of {currency.timeZone}.
      </Text>
    </Stack>
  );
}
