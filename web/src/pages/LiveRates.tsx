// What the node does now, from the live stream: figures with a line of the last minutes.
import { Text } from "@mantine/core";
import { useState } from "react";
import { useLive, type LiveSample, type Rates } from "../api/live";
import { useCurrent } from "../api/session";
import { Figures, Sparkline, type Figure } from "../ui/Figures";
import { formatCount, formatMoney, formatShare } from "../ui/money";

const keptMax = 120; // BOUND: messages that are kept, two minutes.
const microsPerMajor = 1_000_000;

const rounded = (n: number) => formatCount(n >= 10 ? Math.round(n) : Math.round(n * 10) / 10);
const millis = (n: number) => `${n.toLocaleString(undefined, { maximumSignificantDigits: 2 })} ms`;

// LiveRates also hands each sampled request to the page around it, so that a page opens one stream only.
export function LiveRates({ sample }: { sample?: (sample: LiveSample) => void }) {
  const { marketplace } = useCurrent();
  const [kept, setKept] = useState<Rates[]>([]);
  const interrupted = useLive({
    auction: sample,
    rates: (rates) => setKept((all) => [...all.slice(1 - keptMax), rates]),
  });
  const last = kept.at(-1);
  const figure = (
    label: string,
    of: (rates: Rates) => number | undefined,
    format: (n: number) => string,
    without = "waiting for the first seconds",
  ): Figure => {
    const values = kept.map(of).filter((value) => value !== undefined);
    const now = last && of(last);
    return {
      label,
      value: now === undefined ? "–" : format(now),
      note:
        values.length > 1 && !interrupted ? (
          <Sparkline values={values} label={`${label} of the last two minutes`} width={240} />
        ) : (
          <Text span inherit>
            {interrupted ? "the live stream is interrupted" : values.length === 0 ? without : "just begun"}
          </Text>
        ),
    };
  };
  // The node sends millionths of the major unit; a minute of them is a rounded amount in minor units.
  const perMinute = (rates: Rates) =>
    Math.round((rates.spendMicrosPerSecond * 60 * 10 ** marketplace.currencyExponent) / microsPerMajor);
  return (
    <Figures
      of={[
        figure("Auctions per second", (rates) => rates.auctionsPerSecond, rounded),
        figure("Slots filled", (rates) => rates.fillRate, (n) => formatShare(n), "no auction yet"),
        figure("Half of the requests within", (rates) => rates.medianMillis, millis, "needs ten seconds of requests"),
        figure("99 % of the requests within", (rates) => rates.p99Millis, millis, "needs ten seconds of requests"),
        figure("Events per second", (rates) => rates.eventsPerSecond, rounded),
        figure("Spend per minute", perMinute, (n) => formatMoney(n, marketplace)),
      ]}
    />
  );
}
