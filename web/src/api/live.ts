// The live stream of the node: samples of auctions and rates once a second. The browser reconnects by itself.
import { useEffect, useRef, useState } from "react";
import { serviceBase } from "./client";
import { useCurrent } from "./session";

export interface Rates {
  auctionsPerSecond: number;
  eventsPerSecond: number;
  spendPerSecond: number;
}

export interface LiveAuction {
  time: string;
  requestId: string;
  kind: string;
  winners: number;
  lost: Record<string, number>;
  request?: unknown;
}

export type LiveState = "connecting" | "open" | "lost";

// useLive calls the newest handlers for each message while the page is shown.
export function useLive(handlers: { auction?: (auction: LiveAuction) => void; rates?: (rates: Rates) => void }): LiveState {
  const { marketplace } = useCurrent();
  const newest = useRef(handlers);
  const [state, setState] = useState<LiveState>("connecting");
  useEffect(() => {
    newest.current = handlers;
  });
  useEffect(() => {
    const source = new EventSource(`${serviceBase}/live?marketplace=${encodeURIComponent(marketplace.id)}`);
    source.onopen = () => setState("open");
    source.onerror = () => setState("lost");
    source.addEventListener("auction", (event) => newest.current.auction?.(JSON.parse(event.data as string) as LiveAuction));
    source.addEventListener("rates", (event) => newest.current.rates?.(JSON.parse(event.data as string) as Rates));
    return () => source.close();
  }, [marketplace.id]);
  return state;
}
