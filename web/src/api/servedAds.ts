// What came of an ad that won an auction, as the console's own service describes it. Amounts are exact, in minor units.
import { useQuery } from "@tanstack/react-query";
import { request } from "./client";

export interface AdInteraction {
  kind: "impression" | "click";
  occurredAt: string;
  receivedAt: string;
  effect: "counted" | "decided" | "late" | "repeated";
}

export interface AdCharge {
  outcome: "charged" | "clipped" | "nothing_left";
  amount: string;
  at?: string;
  reversed: string;
}

export interface ServedAd {
  servedAt: string;
  campaignId: string;
  rank: number;
  price: string;
  paidBy: "impression" | "click" | "purchase";
  open: boolean;
  charge?: AdCharge;
  userKnown: boolean;
  interactions: AdInteraction[];
  more: boolean;
}

const openMillis = 2_000; // Between two reads of an ad that may still be charged.

export const useServedAd = (id: string, user: string) =>
  useQuery<ServedAd>({
    queryKey: ["GET /served-ads", id, user],
    queryFn: ({ signal }) => request("GET", "/served-ads", { query: { id, user }, signal }),
    refetchInterval: (query) => (query.state.data?.open ? openMillis : false),
  });
