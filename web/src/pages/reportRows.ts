// Report rows of one shape, whatever the report. Amounts are integers in minor units, so sums are exact.
import type { Schemas } from "../api/schema";

export interface Row {
  name: string;
  impressions: number;
  clicks: number;
  spend: number;
  purchases: number;
  sales: number;
}

const emptyRow = (name: string): Row => ({ name, impressions: 0, clicks: 0, spend: 0, purchases: 0, sales: 0 });

type Counted = Pick<Schemas["report.TotalDay"], "impressions" | "clicks" | "purchases">;

export const rowOf = (name: string, of: Counted): Row => ({
  name,
  impressions: of.impressions.total,
  clicks: of.clicks.total,
  spend: of.clicks.adSpent + of.impressions.adSpent,
  purchases: of.purchases.count,
  sales: of.purchases.amount,
});

// rowsOf returns a row for every date of a range. The report leaves out days without events.
export function rowsOf(days: (Counted & { date: string })[], dates: string[]): Row[] {
  const found = new Map(days.map((day) => [day.date, rowOf(day.date, day)]));
  return dates.map((date) => found.get(date) ?? emptyRow(date));
}

// hourRowsOf does that for hours, which are given in Unix seconds.
export function hourRowsOf(hours: (Counted & { hour: string })[], starts: number[]): Row[] {
  const found = new Map(hours.map((one) => [Date.parse(one.hour) / 1_000, rowOf(one.hour, one)]));
  return starts.map((start) => found.get(start) ?? emptyRow(new Date(start * 1_000).toISOString()));
}

export function sumOf(rows: Row[], name = ""): Row {
  const sum = emptyRow(name);
  for (const row of rows) {
    sum.impressions += row.impressions;
    sum.clicks += row.clicks;
    sum.spend += row.spend;
    sum.purchases += row.purchases;
    sum.sales += row.sales;
  }
  return sum;
}

// groupInteractions adds up the rows of the interactions report, which has one for each day and object.
export function groupInteractions(
  all: Schemas["report.Interaction"][],
  by: (one: Schemas["report.Interaction"]) => string,
): Row[] {
  const rows = new Map<string, Row>();
  for (const one of all) {
    const name = by(one);
    const row = rows.get(name) ?? sumOf([], name);
    row.impressions += one.impressions;
    row.clicks += one.clicks;
    row.spend += one.adSpentClicks + one.adSpentImpressions;
    row.purchases += one.totalPurchaseCount;
    row.sales += one.totalPurchaseAmount;
    rows.set(name, row);
  }
  return [...rows.values()].sort((a, b) => b.spend - a.spend || b.impressions - a.impressions);
}
