// The live stream of the node: sampled requests for auctions, and rates once a second.
import { useEffect, useRef, useState } from "react";
import { serviceBase } from "./client";
import { useCurrent } from "./session";
import { follow } from "./stream";

export interface Rates {
  auctionsPerSecond: number;
  eventsPerSecond: number;
  spendMicrosPerSecond: number;
  fillRate?: number; // Absent when no slot was wanted.
  medianMillis?: number; // Of requests for auctions at this node, of all marketplaces. Absent without requests.
  p99Millis?: number;
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

// useLive calls the newest handlers for each message while the page is shown. Without a handler for auctions the node
// sends rates only. It reports whether the stream is interrupted.
export function useLive(handlers: Handlers): boolean {
  const { marketplace } = useCurrent();
  const newest = useRef(handlers);
  const [interrupted, setInterrupted] = useState(false);
  const sampled = handlers.auction !== undefined;
  useEffect(() => {
    newest.current = handlers;
  });
  useEffect(() => {
    const query = new URLSearchParams({ marketplace: marketplace.id, ...(sampled ? {} : { samples: "none" }) });
    return follow(`${serviceBase}/live?${query.toString()}`, {
      interrupted: setInterrupted,
      events: {
        auction: (data) => newest.current.auction?.(JSON.parse(data) as LiveSample),
        rates: (data) => newest.current.rates?.(JSON.parse(data) as Rates),
      },
    });
  }, [marketplace.id, sampled]);
  return interrupted;
}
