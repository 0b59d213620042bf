// What led to a purchase, as the console's own service describes it. Amounts are exact, in minor units.
import { useQuery } from "@tanstack/react-query";
import { request } from "./client";

export interface Credit {
  item: number;
  productId: string;
  quantity: number;
  unitPrice: string;
  campaignId: string;
  kind: "click" | "impression";
  halo: boolean;
  charged: string;
  touch: number;
}

export interface Touch {
  kind: "click" | "impression";
  at: string;
  format: string;
  vendorId: string;
  productId?: string;
  campaignId: string;
  considered: boolean;
}

export interface Purchase {
  hour: string;
  open: boolean;
  attribution: string;
  userKnown: boolean;
  credits: Credit[];
  touches: Touch[];
  more: boolean;
}

const openMillis = 2_000; // Between two reads of a purchase that is not credited yet.

// usePurchase reads a purchase by the id of its event, or by a key of the newest purchases.
export const usePurchase = (by: { id: string } | { key: string }, user: string) =>
  useQuery<Purchase>({
    queryKey: ["GET /purchases", by, user],
    queryFn: ({ signal }) => request("GET", "/purchases", { query: { ...by, user }, signal }),
    enabled: Object.values(by)[0] !== "",
    refetchInterval: (query) => (query.state.data?.open ? openMillis : false),
  });

export interface NewestPurchase {
  key: string;
  createdAt: string;
  items: number;
  sales: string;
  charged: string;
  campaigns: string[];
}

const newestMillis = 15_000; // Between two reads of the list.

export const useNewestPurchases = () =>
  useQuery<{ purchases: NewestPurchase[]; complete: boolean }>({
    queryKey: ["GET /purchases/newest"],
    queryFn: ({ signal }) => request("GET", "/purchases/newest", { signal }),
    refetchInterval: newestMillis,
  });
