// A campaign's days: figures, a chart of spend against budget, what it adds, and the products that brought most.
import { Anchor, Group, Paper, SegmentedControl, Stack, Text, Title } from "@mantine/core";
import { useMemo } from "react";
import { Link } from "react-router";
import { useRead } from "../api/query";
import type { Schemas } from "../api/schema";
import { useCurrent } from "../api/session";
import { DataTable, useCursor } from "../ui/DataTable";
import { Figures } from "../ui/Figures";
import { LazyChart } from "../ui/LazyChart";
import { counted, formatCount, formatMoney, formatShare } from "../ui/money";
import { reasonOf } from "../ui/reasons";
import { Empty, Loaded } from "../ui/States";
import { dayOf, daysBetween, noonOf, Time } from "../ui/time";
import { CampaignBreakdown } from "./CampaignBreakdown";
import { CampaignHours } from "./CampaignHours";
import { CampaignIncrementality } from "./CampaignIncrementality";
import { CampaignReach } from "./CampaignReach";
import { Named, useNames } from "./names";
import { rangeChoices, useRange } from "./ranges";
import { rowsOf, type Row } from "./reportRows";

type Campaign = Schemas["campaign.Campaign"];

export function CampaignPerformance({ campaign }: { campaign: Campaign }) {
  const { marketplace } = useCurrent();
  const [range, setRange] = useRange();
  const dates = { start_date: dayOf(marketplace.timeZone, 1 - range.days), end_date: dayOf(marketplace.timeZone) };
  return (
    <Stack>
      <Group>
        <SegmentedControl
          aria-label="Range"
          size="xs"
          value={range.value}
          onChange={setRange}
          data={rangeChoices}
        />
      </Group>
      {range.hours ? (
        <CampaignHours campaign={campaign} hours={range.hours} />
      ) : (
        <LastDays campaign={campaign} range={dates} days={range.days} />
      )}
      <CampaignIncrementality
        campaign={campaign}
        range={dates}
        title={range.days === 1 ? "Incrementality, today" : `Incrementality, ${range.days} days`}
      />
      <CampaignReach
        campaign={campaign}
        range={dates}
        title={range.days === 1 ? "Reach, today" : `Reach, ${range.days} days`}
      />
      <CampaignBreakdown
        campaign={campaign}
        range={dates}
        title={range.days === 1 ? "Where, today" : `Where, ${range.days} days`}
      />
      <ProductRows
        campaign={campaign}
        range={dates}
        title={range.days === 1 ? "Products, today" : `Products, ${range.days} days`}
      />
    </Stack>
  );
}

interface Dates {
  start_date: string;
  end_date: string;
}

function LastDays({ campaign, range, days }: { campaign: Campaign; range: Dates; days: number }) {
  const path = { campaign_id: campaign.campaignId };
  const total = useRead("GET /reporting-service/campaigns/{campaign_id}", { path, query: range }, { every: 15_000 });
  const daily = useRead(
    "GET /reporting-service/campaigns/{campaign_id}/daily",
    { path, query: { ...range, limit: 100 } },
    { every: 30_000 },
  );
  return (
    <Stack>
      <Loaded of={total}>
        {(report) => <Totals of={report} days={days} />}
      </Loaded>
      <Loaded of={daily}>
        {(report) => (
          <Days
            campaign={campaign}
            rows={rowsOf(report.reports, daysBetween(range.start_date, range.end_date))}
            completeThrough={report.completeThrough}
          />
        )}
      </Loaded>
    </Stack>
  );
}

// Totals shows what the days brought together, and why the campaign lost auctions.
function Totals({ of: report, days }: { of: Schemas["report.Report"]; days: number }) {
  const { marketplace } = useCurrent();
  const auctions = report.auctions;
  return (
    <Stack>
      <Figures
        of={[
          {
            label: days === 1 ? "Spend, today" : `Spend, ${days} days`,
            value: formatMoney(report.clicks.adSpent + report.impressions.adSpent, marketplace),
          },
          { label: "Impressions", value: formatCount(report.impressions.total) },
          { label: "Clicks", value: formatCount(report.clicks.total) },
          {
            label: "Sales",
            value: formatMoney(report.purchases.amount, marketplace),
            note: `${counted(report.purchases.count, "purchase")} credited to its ads`,
          },
          ...(report.attributed.roas === null
            ? []
            : [{ label: "ROAS", value: report.attributed.roas.toFixed(2), note: "sales for each unit of spend" }]),
          ...(auctions
            ? [
                {
                  label: "Auctions won",
                  value: formatShare(auctions.percentageWon / 100),
                  note: `${formatCount(auctions.won)} won, ${formatCount(auctions.lost)} lost`,
                },
              ]
            : []),
        ]}
      />
      {auctions?.reasons && <Losses of={auctions} />}
    </Stack>
  );
}

// Losses lists why the campaign's bids lost, the most frequent reasons first.
function Losses({ of }: { of: Schemas["report.Auctions"] }) {
  const shown = 5;
  const reasons = Object.entries(of.reasons ?? {})
    .sort(([, a], [, b]) => b - a)
    .slice(0, shown);
  if (reasons.length === 0) return null;
  return (
    <Paper withBorder p="md">
      <Title order={3} size="h5">
        Why auctions were lost
      </Title>
      {reasons.map(([name, count]) => (
        <Group key={name} justify="space-between" wrap="nowrap">
          <Text size="sm">{reasonOf(name).why}</Text>
          <Text size="sm" ta="right">
            {formatCount(count)} ({formatShare(count / of.lost)})
          </Text>
        </Group>
      ))}
    </Paper>
  );
}

interface DaysProps {
  campaign: Campaign;
  rows: Row[];
  completeThrough: string;
}

function Days({ campaign, rows, completeThrough }: DaysProps) {
  const { marketplace } = useCurrent();
  const times = useMemo(() => rows.map((row) => noonOf(row.name)), [rows]);
  const daily = campaign.budget?.type === "daily" ? campaign.budget.amount : undefined;
  const lines = useMemo(() => {
    const format = (n: number) => formatMoney(Math.round(n), marketplace);
    return [
      { label: "Spend", values: rows.map((row) => row.spend), format },
      ...(daily === undefined ? [] : [{ label: "Daily budget", values: rows.map(() => daily), format, dashed: true }]),
    ];
  }, [rows, daily, marketplace]);
  if (rows.every((row) => row.spend === 0)) {
    return (
      <Empty
        title={rows.length === 1 ? "No spend today" : `No spend in the last ${rows.length} days`}
        action={
          <Anchor component={Link} to="/playground">
            Ask the playground why
          </Anchor>
        }
      >
        Either the storefront asks for other products, or the bids lose.
      </Empty>
    );
  }
  if (rows.length === 1) return null; // One day is no chart; its figures are above.
  return (
    <Paper withBorder radius="md" p="md">
      <Title order={2} size="h5" mb="xs">
        Spend by day{daily === undefined ? "" : " against the daily budget"}
      </Title>
      <LazyChart label="Spend by day" times={times} lines={lines} timeZone="UTC" />
      <Group gap={4}>
        <Text size="sm" c="dimmed" component="div">
          Complete to <Time at={completeThrough} format="full" />.
        </Text>
      </Group>
    </Paper>
  );
}

function ProductRows({ campaign, range, title }: { campaign: Campaign; range: Dates; title: string }) {
  const { marketplace } = useCurrent();
  const cursor = useCursor();
  const products = useRead(
    "GET /reporting-service/campaigns/{campaign_id}/products",
    {
      path: { campaign_id: campaign.campaignId },
      query: { ...range, limit: 10, next_page: cursor.page },
    },
    { keep: true },
  );
  const names = useNames("product", products.data?.reports.map((row) => row.productId) ?? []);
  if (!products.data || products.data.reports.length === 0) return null;
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        {title}
      </Title>
      <DataTable
        label="Products of the campaign"
        rows={products.data.reports}
        rowKey={(row) => row.productId}
        empty={null}
        pager={cursor.pager(products.data.nextPage)}
        columns={[
          { name: "Product", cell: (row) => <Named kind="product" id={row.productId} names={names} /> },
          { name: "Impressions", align: "right", cell: (row) => formatCount(row.impressions.total) },
          { name: "Clicks", align: "right", cell: (row) => formatCount(row.clicks.total) },
          {
            name: "Spend",
            align: "right",
            cell: (row) => formatMoney(row.clicks.adSpent + row.impressions.adSpent, marketplace),
          },
          { name: "Purchases", align: "right", cell: (row) => formatCount(row.purchases.count) },
          { name: "Sales", align: "right", cell: (row) => formatMoney(row.purchases.amount, marketplace) },
        ]}
      />
    </Stack>
  );
}
