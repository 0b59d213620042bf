// The live stream of the node: sampled requests for auctions, and rates once a second. The browser reconnects by
// itself.
import { useEffect, useRef, useState } from "react";
import { serviceBase } from "./client";
import { useCurrent } from "./session";

export interface Rates {
  auctionsPerSecond: number;
  eventsPerSecond: number;
  spendMicrosPerSecond: number;
}

export interface LiveAd {
  rank: number;
  type: string;
  id: string;
  campaignId?: string;
  resolvedBidId?: string; // Absent for external demand.
}

export interface LiveAuction {
  resultType: string;
  slots: number;
  winners: number;
  lost: Record<string, number> | null;
  ads: LiveAd[] | null;
}

export interface LiveSample {
  time: string;
  requestId: string;
  operation: "auctions" | "sponsored-brand" | "travel";
  auctions: LiveAuction[];
  request?: Record<string, unknown>; // Absent when it is large. The ids of users are masked.
}

interface Handlers {
  auction?: (sample: LiveSample) => void;
  rates?: (rates: Rates) => void;
}

// useLive calls the newest handlers for each message while the page is shown. It reports whether the stream is
// interrupted.
export function useLive(handlers: Handlers): boolean {
  const { marketplace } = useCurrent();
  const newest = useRef(handlers);
  const [interrupted, setInterrupted] = useState(false);
  useEffect(() => {
    newest.current = handlers;
  });
  useEffect(() => {
    const source = new EventSource(`${serviceBase}/live?marketplace=${encodeURIComponent(marketplace.id)}`);
    source.onopen = () => setInterrupted(false);
    source.onerror = () => setInterrupted(true);
    source.addEventListener("auction", (event) =>
      newest.current.auction?.(JSON.parse(event.data as string) as LiveSample),
    );
    source.addEventListener("rates", (event) => newest.current.rates?.(JSON.parse(event.data as string) as Rates));
    return () => source.close();
  }, [marketplace.id]);
  return interrupted;
}
