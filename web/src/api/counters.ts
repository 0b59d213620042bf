// Reads the counters that the node counts anyway for monitoring, so that open consoles cost the auctions nothing.

// Counters are the samples of one read: the value of each series by its name with labels, as the node prints it.
export interface Counters {
  at: number; // Milliseconds.
  series: Map<string, number>;
}

const wanted = /^gavel_(auctions_total|winners_total|events_total|charged_micros_total|request_seconds_bucket)\b/;

// parseCounters reads the text format of Prometheus, as far as this console needs it.
export function parseCounters(text: string, at: number): Counters {
  const series = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (!wanted.test(line)) continue;
    const end = line.lastIndexOf(" ");
    series.set(line.slice(0, end), Number(line.slice(end + 1)));
  }
  return { at, series };
}

// sumOf adds up the series whose text begins with a prefix and contains a part.
export function sumOf(counters: Counters, prefix: string, part = ""): number {
  let sum = 0;
  for (const [name, value] of counters.series) {
    if (name.startsWith(prefix) && name.includes(part)) sum += value;
  }
  return sum;
}

// Rates are what happened between two reads, by second.
export interface Rates {
  at: number;
  auctions: number;
  winners: number;
  events: number;
  spend: number | undefined; // Minor units; undefined when the currency has no series.
  p99: number | undefined; // Seconds below which 99 % of the answers to auctions were; undefined without one.
}

const microsPerMajor = 1_000_000;

export function ratesBetween(before: Counters, after: Counters, currency: string, exponent: number): Rates {
  const seconds = Math.max(0.001, (after.at - before.at) / 1_000);
  // A restarted node begins at 0, so a difference below 0 counts as none.
  const rate = (prefix: string, part = "") => Math.max(0, sumOf(after, prefix, part) - sumOf(before, prefix, part)) / seconds;
  const charged = `gavel_charged_micros_total{currency="${currency}"}`;
  const minorPerMicro = 10 ** exponent / microsPerMajor;
  return {
    at: after.at,
    auctions: rate("gavel_auctions_total"),
    winners: rate("gavel_winners_total"),
    events: rate("gavel_events_total"),
    spend: after.series.has(charged) ? rate(charged) * minorPerMicro : undefined,
    p99: quantile(before, after, 0.99),
  };
}

// quantile returns the upper bound of the bucket that holds the quantile of the answers to auctions between two reads.
function quantile(before: Counters, after: Counters, q: number): number | undefined {
  const buckets = new Map<number, number>();
  for (const [name, value] of after.series) {
    if (!name.startsWith("gavel_request_seconds_bucket") || !name.includes("operation=\"auctions\"")) continue;
    const le = /le="([^"]+)"/.exec(name)?.[1];
    if (le === undefined) continue;
    const bound = le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le);
    buckets.set(bound, (buckets.get(bound) ?? 0) + value - (before.series.get(name) ?? 0));
  }
  const total = buckets.get(Number.POSITIVE_INFINITY) ?? 0;
  if (total <= 0) return undefined;
  const found = [...buckets].sort(([a], [b]) => a - b).find(([, count]) => count >= q * total)?.[0];
  return found === Number.POSITIVE_INFINITY ? undefined : found;
}
