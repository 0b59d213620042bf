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

type Counted = Pick<Schemas["report.TotalDay"], "date" | "impressions" | "clicks" | "purchases">;

// rowsOf returns a row for every date of a range. The report leaves out days without events.
export function rowsOf(days: Counted[], dates: string[]): Row[] {
  const found = new Map(
    days.map((day) => [
      day.date,
      {
        name: day.date,
        impressions: day.impressions.total,
        clicks: day.clicks.total,
        spend: day.clicks.adSpent + day.impressions.adSpent,
        purchases: day.purchases.count,
        sales: day.purchases.amount,
      },
    ]),
  );
  return dates.map((date) => found.get(date) ?? emptyRow(date));
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
