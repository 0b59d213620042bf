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

export interface LiveEvent {
  kind: "impressions" | "clicks" | "purchases" | "pageviews";
  id: string;
  status: "recorded" | "duplicate" | "late";
  chargedMicros: number;
}

// LiveReport is a request that reported events. A refused one has errCode and message, and no events.
export interface LiveReport {
  time: string;
  requestId: string;
  errCode?: string;
  message?: string;
  events: LiveEvent[];
  request?: Record<string, unknown>; // Absent when it is large or no JSON. The ids of users are masked.
}

// EventTotals count since somebody looks at the events of the marketplace at this node.
export interface EventTotals {
  recorded: number;
  duplicate: number;
  late: number;
  refused: Record<string, number>; // Requests by errCode.
}

interface Handlers {
  auction?: (sample: LiveSample) => void;
  events?: (report: LiveReport) => void;
  totals?: (totals: EventTotals) => void;
  rates?: (rates: Rates) => void;
}

// useLive calls the newest handlers for each message while the page is shown. The node sends samples of auctions or of
// events, whichever has a handler, and rates in any case. It reports whether the stream is interrupted.
export function useLive(handlers: Handlers): boolean {
  const { marketplace } = useCurrent();
  const newest = useRef(handlers);
  const [interrupted, setInterrupted] = useState(false);
  const samples = handlers.auction ? "auctions" : handlers.events ? "events" : "none";
  useEffect(() => {
    newest.current = handlers;
  });
  useEffect(() => {
    const query = new URLSearchParams({ marketplace: marketplace.id, samples });
    return follow(`${serviceBase}/live?${query.toString()}`, {
      interrupted: setInterrupted,
      events: {
        auction: (data) => newest.current.auction?.(JSON.parse(data) as LiveSample),
        events: (data) => newest.current.events?.(JSON.parse(data) as LiveReport),
        totals: (data) => newest.current.totals?.(JSON.parse(data) as EventTotals),
        rates: (data) => newest.current.rates?.(JSON.parse(data) as Rates),
      },
    });
  }, [marketplace.id, samples]);
  return interrupted;
}
