// Products that an active campaign bids on, so that examples have a winner at the first try.
import { useRead } from "../api/query";

export function useSampleProducts(): { products: string[]; ready: boolean } {
  const campaigns = useRead("GET /campaign-service/campaigns", {
    query: { ad_format: "listing", is_active: true, status: "approved", limit: 10 },
  });
  const campaign =
    campaigns.data?.campaigns.find((one) => one.bidCount > 0 && !/hotel|flight/i.test(one.name)) ??
    campaigns.data?.campaigns.find((one) => one.bidCount > 0);
  const bids = useRead(
    "GET /campaign-service/campaigns/{campaign_id}/bids",
    { path: { campaign_id: campaign?.campaignId ?? "" }, query: { limit: 5 } },
    { enabled: campaign !== undefined },
  );
  const products = [
    ...new Set((bids.data?.bids ?? []).filter((bid) => bid.target.type === "product").map((bid) => bid.target.id)),
  ];
  return { products, ready: campaigns.data !== undefined && (campaign === undefined || bids.data !== undefined) };
}
