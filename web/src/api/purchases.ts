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

export const usePurchase = (id: string, user: string) =>
  useQuery<Purchase>({
    queryKey: ["GET /purchases", id, user],
    queryFn: ({ signal }) => request("GET", "/purchases", { query: { id, user }, signal }),
    enabled: id !== "",
    refetchInterval: (query) => (query.state.data?.open ? openMillis : false),
  });
