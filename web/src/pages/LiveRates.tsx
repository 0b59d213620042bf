// Rates of the last minutes from the live stream, as figures with a line.
import { Text } from "@mantine/core";
import { useState } from "react";
import { useLive, type Rates } from "../api/live";
import { useCurrent } from "../api/session";
import { Figures, Sparkline } from "../ui/Figures";
import { formatCount, formatMoney } from "../ui/money";

const keptMax = 120; // BOUND: messages that are kept, two minutes.

export function LiveRates() {
  const { marketplace } = useCurrent();
  const [kept, setKept] = useState<Rates[]>([]);
  const state = useLive({ rates: (rates) => setKept((before) => [...before.slice(1 - keptMax), rates]) });
  const last = kept.at(-1);
  const figure = (label: string, member: keyof Rates, text: (n: number) => string) => ({
    label,
    value: last ? text(last[member]) : "–",
    note: kept.length > 1
      ? <Sparkline values={kept.map((one) => one[member])} label={`${label} of the last two minutes`} />
      : <Text span inherit>{state === "lost" ? "the live stream is interrupted" : "connecting"}</Text>,
  });
  return (
    <Figures of={[
      figure("Auctions per second", "auctionsPerSecond", (n) => formatCount(Math.round(n * 10) / 10)),
      figure("Events per second", "eventsPerSecond", (n) => formatCount(Math.round(n * 10) / 10)),
      figure("Spend per second", "spendPerSecond", (n) => formatMoney(Math.round(n), marketplace)),
    ]} />
  );
}
