// What the node does now, from its counters: figures with a line of the last minutes.
import { Text } from "@mantine/core";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { ratesBetween, type Counters, type Rates } from "../api/counters";
import { useCurrent } from "../api/session";
import { useCounters } from "../api/useCounters";
import { Figures, Sparkline, type Figure } from "../ui/Figures";
import { formatCount, formatMoney } from "../ui/money";

const keptMax = 90; // BOUND: points that are kept, three minutes.

const rounded = (n: number) => formatCount(n >= 10 ? Math.round(n) : Math.round(n * 10) / 10);

function milliseconds(seconds: number): string {
  return seconds < 0.001 ? `${Math.round(seconds * 1e6)} µs` : `${Math.round(seconds * 1e4) / 10} ms`;
}

export function LiveRates() {
  const { marketplace } = useCurrent();
  const counters = useCounters();
  const before = useRef<Counters | undefined>(undefined);
  const [kept, setKept] = useState<Rates[]>([]);
  useEffect(() => {
    const now = counters.data;
    if (!now) return;
    const then = before.current;
    before.current = now;
    if (then && now.at > then.at) {
      const rates = ratesBetween(then, now, marketplace.currencyCode, marketplace.currencyExponent);
      setKept((all) => [...all.slice(1 - keptMax), rates]);
    }
  }, [counters.data, marketplace]);

  const last = kept.at(-1);
  const line = (label: string, of: (rates: Rates) => number): ReactNode => (kept.length > 1
    ? <Sparkline values={kept.map(of)} label={`${label} of the last minutes`} />
    : <Text span inherit>{counters.error ? "not known at this address" : "counting"}</Text>);
  const figure = (label: string, of: (rates: Rates) => number, value: (rates: Rates) => string): Figure =>
    ({ label, value: last ? value(last) : "–", note: line(label, of) });
  return (
    <Figures of={[
      figure("Auctions per second", (r) => r.auctions, (r) => rounded(r.auctions)),
      figure("Winners per auction", fill, (r) => (r.auctions > 0 ? rounded(fill(r)) : "–")),
      figure("99 % answered within", (r) => r.p99 ?? 0, (r) => (r.p99 === undefined ? "–" : milliseconds(r.p99))),
      figure("Events per second", (r) => r.events, (r) => rounded(r.events)),
      figure("Spend per minute", (r) => r.spend ?? 0, (r) => (r.spend === undefined ? "–" : formatMoney(Math.round(r.spend * 60), marketplace))),
    ]} />
  );
}

const fill = (r: Rates) => (r.auctions > 0 ? r.winners / r.auctions : 0);
