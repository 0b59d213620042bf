// Reports: a range and a grouping, compared with the period before it, as chart and table, and as a CSV or Parquet file.
import { Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMemo } from "react";
import type { UseQueryResult } from "@tanstack/react-query";
import { file } from "../api/client";
import { useRead, useWrite } from "../api/query";
import { useCurrent } from "../api/session";
import { useAddressState } from "../ui/address";
import { DataTable } from "../ui/DataTable";
import { Figures } from "../ui/Figures";
import { LazyChart } from "../ui/LazyChart";
import { formatCount, formatMoney, formatShare, major, type Currency } from "../ui/money";
import { Page } from "../ui/Page";
import { SavedViews } from "../ui/SavedViews";
import { Empty, Failure, Loaded } from "../ui/States";
import { dayOf, daysBetween, noonOf, Time } from "../ui/time";
import { Breakdown, dimensions, type Dimension } from "./Breakdown";
import { download, save } from "./csv";
import { rowsOf, sumOf, type Row } from "./reportRows";
import { ReportGroups, type Grouping } from "./ReportGroups";
import type { Schemas } from "../api/schema";

const presets = [
  { value: "7", label: "Last 7 days" },
  { value: "30", label: "Last 30 days" },
  { value: "90", label: "Last 90 days" },
  { value: "own", label: "Own range" },
];

export default function Reports() {
  const { marketplace, vendorId } = useCurrent();
  const zone = marketplace.timeZone;
  const [preset, setPreset] = useAddressState("range", "30");
  const [own, setOwn] = useAddressState("from", dayOf(zone, -29));
  const [ownEnd, setOwnEnd] = useAddressState("to", dayOf(zone));
  const [grouping, setGrouping] = useAddressState("by", "day");
  const from = preset === "own" ? own : dayOf(zone, 1 - Number(preset));
  const to = preset === "own" ? ownEnd : dayOf(zone);
  const days = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000) + 1;
  const valid = days >= 1 && days <= 366;

  return (
    <Page
      title="Reports"
      about={`Days are those of ${zone}. Spend counts at the time of the click or impression.`}
      actions={<SavedViews list="reports" members={["range", "from", "to", "by"]} />}
    >
      <Group align="flex-end" gap="sm">
        <Select
          label="Range"
          data={presets}
          value={preset}
          onChange={(value) => setPreset(value ?? "30")}
          allowDeselect={false}
          w={150}
        />
        {preset === "own" && (
          <>
            <TextInput label="From" type="date" value={own} onChange={(event) => setOwn(event.currentTarget.value)} />
            <TextInput
              label="To"
              type="date"
              value={ownEnd}
              onChange={(event) => setOwnEnd(event.currentTarget.value)}
            />
          </>
        )}
        <Select
          label="Group by"
          value={grouping}
          onChange={(value) => setGrouping(value ?? "day")}
          allowDeselect={false}
          w={150}
          data={[
            { value: "day", label: "Day" },
            ...Object.entries(dimensions).map(([value, { label }]) => ({ value, label })),
            ...(vendorId
              ? []
              : [
                  { value: "campaign", label: "Campaign" },
                  { value: "product", label: "Product" },
                  { value: "vendor", label: "Vendor" },
                ]),
          ]}
        />
      </Group>
      {!valid && (
        <Text c="red" role="alert">
          The range must have 1 to 366 days; it has {days}.
        </Text>
      )}
      {valid && grouping === "day" && <ByDay from={from} to={to} days={days} />}
      {valid && grouping in dimensions && (
        <Breakdown key={grouping} by={grouping as Dimension} range={{ start_date: from, end_date: to }} />
      )}
      {valid && grouping !== "day" && !(grouping in dimensions) && (
        <ReportGroups by={grouping as Grouping} from={from} to={to} />
      )}
    </Page>
  );
}

function useDays(from: string, to: string) {
  const { vendorId } = useCurrent();
  const query = { start_date: from, end_date: to, limit: 365 };
  const all = useRead("GET /reporting-service/marketplace/daily", { query }, { enabled: !vendorId });
  const own = useRead(
    "GET /reporting-service/vendors/{vendor_id}/daily",
    { path: { vendor_id: vendorId ?? "" }, query },
    { enabled: vendorId !== undefined },
  );
  return (vendorId ? own : all) as UseQueryResult<Schemas["report.TotalDays"], Error>;
}

const shifted = (date: string, days: number) =>
  new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10);

function ByDay({ from, to, days }: { from: string; to: string; days: number }) {
  const { marketplace } = useCurrent();
  const report = useDays(from, to);
  const before = useDays(shifted(from, -days), shifted(from, -1));
  return (
    <Loaded of={report}>
      {(data) => (
        <Days
          rows={rowsOf(data.reports, daysBetween(from, to))}
          before={
            before.data
              ? sumOf(rowsOf(before.data.reports, daysBetween(shifted(from, -days), shifted(from, -1))))
              : undefined
          }
          completeThrough={data.completeThrough}
          currency={marketplace}
          range={{ start_date: from, end_date: to }}
        />
      )}
    </Loaded>
  );
}

interface DaysProps {
  rows: Row[];
  before: Row | undefined;
  completeThrough: string;
  currency: Currency;
  range: { start_date: string; end_date: string };
}

function Days({ rows, before, completeThrough, currency, range }: DaysProps) {
  const { vendorId } = useCurrent();
  const scope = vendorId ? `vendors/${encodeURIComponent(vendorId)}` : "marketplace";
  const parquet = useWrite(async () => {
    const content = await file(`/reporting-service/${scope}/daily`, { ...range, limit: 365, format: "parquet" });
    save("report.parquet", content);
  });
  const total = useMemo(() => sumOf(rows), [rows]);
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
  if (total.impressions + total.clicks + total.purchases === 0) {
    return (
      <Empty title="No events in this range">
        Choose another range, or look at live auctions to see whether traffic arrives.
      </Empty>
    );
  }
  const money = (n: number) => formatMoney(n, currency);
  const figure = (label: string, member: Exclude<keyof Row, "name">, format: (n: number) => string) => ({
    label,
    value: format(total[member]),
    note: before && <Change from={before[member]} to={total[member]} format={format} />,
  });
  return (
    <Stack>
      <Figures
        of={[
          figure("Spend", "spend", money),
          figure("Impressions", "impressions", formatCount),
          figure("Clicks", "clicks", formatCount),
          figure("Purchases", "purchases", formatCount),
          figure("Sales", "sales", money),
        ]}
      />
      {rows.length > 1 && (
        <LazyChart label="Spend and sales by day" times={times} lines={lines} timeZone="UTC" height={260} />
      )}
      <Group justify="space-between">
        <Text size="sm" c="dimmed" component="div">
          Complete to <Time at={completeThrough} format="full" />.
        </Text>
        <Group gap="xs">
          <Button variant="default" size="xs" onClick={() => download("report.csv", csvOf(rows, "day", currency))}>
            Download CSV
          </Button>
          <Button variant="default" size="xs" onClick={() => parquet.mutate(undefined)} loading={parquet.isPending}>
            Download Parquet
          </Button>
        </Group>
      </Group>
      {parquet.error && <Failure error={parquet.error} />}
      <DataTable
        label="Days"
        rows={[...rows].reverse().filter((row) => row.impressions + row.clicks + row.purchases > 0)}
        rowKey={(row) => row.name}
        empty={null}
        columns={reportColumns("Day", currency, (row) => row.name)}
      />
    </Stack>
  );
}

function Change({ from, to, format }: { from: number; to: number; format: (n: number) => string }) {
  if (from === 0) return <span>nothing in the period before</span>;
  const change = to / from - 1;
  return (
    <span title={`${format(from)} in the period before`}>
      {change >= 0 ? "+" : ""}
      {formatShare(change)} on the period before
    </span>
  );
}

export function reportColumns(first: string, currency: Currency, name: (row: Row) => React.ReactNode) {
  return [
    { name: first, cell: name },
    { name: "Impressions", align: "right" as const, cell: (row: Row) => formatCount(row.impressions) },
    { name: "Clicks", align: "right" as const, cell: (row: Row) => formatCount(row.clicks) },
    {
      name: "Click rate",
      align: "right" as const,
      cell: (row: Row) => (row.impressions > 0 ? formatShare(row.clicks / row.impressions, 2) : "–"),
    },
    { name: "Spend", align: "right" as const, cell: (row: Row) => formatMoney(row.spend, currency) },
    { name: "Purchases", align: "right" as const, cell: (row: Row) => formatCount(row.purchases) },
    { name: "Sales", align: "right" as const, cell: (row: Row) => formatMoney(row.sales, currency) },
    {
      name: "Return",
      align: "right" as const,
      cell: (row: Row) => (row.spend > 0 ? `${(row.sales / row.spend).toFixed(2)} ×` : "–"),
    },
  ];
}

export function csvOf(rows: Row[], first: string, currency: Currency): string[][] {
  const amount = (minor: number) => major(minor, currency.currencyExponent);
  const code = currency.currencyCode;
  return [
    [first, "impressions", "clicks", `spend ${code}`, "purchases", `sales ${code}`],
    ...rows.map((row) => [
      row.name,
      String(row.impressions),
      String(row.clicks),
      amount(row.spend),
      String(row.purchases),
      amount(row.sales),
    ]),
  ];
}
