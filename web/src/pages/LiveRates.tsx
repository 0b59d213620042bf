// What the node does now, from the live stream: figures with a line of the last minutes.
import { Text } from "@mantine/core";
import { useState } from "react";
import { useLive, type LiveSample, type Rates } from "../api/live";
import { useCurrent } from "../api/session";
import { Figures, Sparkline, type Figure } from "../ui/Figures";
import { formatCount, formatMoney } from "../ui/money";

const keptMax = 120; // BOUND: messages that are kept, two minutes.
const microsPerMajor = 1_000_000;

const rounded = (n: number) => formatCount(n >= 10 ? Math.round(n) : Math.round(n * 10) / 10);

// LiveRates also hands each sampled request to the page around it, so that a page opens one stream only.
export function LiveRates({ sample }: { sample?: (sample: LiveSample) => void }) {
  const { marketplace } = useCurrent();
  const [kept, setKept] = useState<Rates[]>([]);
  const interrupted = useLive({
    auction: sample,
    rates: (rates) => setKept((all) => [...all.slice(1 - keptMax), rates]),
  });
  const last = kept.at(-1);
  const figure = (label: string, of: (rates: Rates) => number, format: (n: number) => string): Figure => ({
    label,
    value: last ? format(of(last)) : "–",
    note:
      kept.length > 1 && !interrupted ? (
        <Sparkline values={kept.map(of)} label={`${label} of the last two minutes`} width={220} />
      ) : (
        <Text span inherit>
          {interrupted ? "the live stream is interrupted" : "waiting for the first seconds"}
        </Text>
      ),
  });
  // The node sends millionths of the major unit; a minute of them is a rounded amount in minor units.
  const perMinute = (rates: Rates) =>
    Math.round((rates.spendMicrosPerSecond * 60 * 10 ** marketplace.currencyExponent) / microsPerMajor);
  return (
    <Figures
      of={[
        figure("Auctions per second", (rates) => rates.auctionsPerSecond, rounded),
        figure("Events per second", (rates) => rates.eventsPerSecond, rounded),
        figure("Spend per minute", perMinute, (n) => formatMoney(n, marketplace)),
      ]}
    />
  );
}
