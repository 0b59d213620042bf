// Changes of a campaign by the role of the user. Users of vendors go through the operations of the vendors' dialog,
// which know that a marketplace may want to review what vendors do.
import { call } from "../api/client";
import type { Schemas } from "../api/schema";

type Campaign = Schemas["campaign.Campaign"];
type Patch = Schemas["campaign.PatchBody"];

export function patchCampaign(campaign: Campaign, body: Patch, vendorId?: string): Promise<unknown> {
  const path = { campaign_id: campaign.campaignId };
  if (!vendorId) return call("PATCH /campaign-service/campaigns/{campaign_id}", { path, body });
  return call("PATCH /modal-service/vendors/{vendor_id}/campaigns/{campaign_id}", {
    path: { ...path, vendor_id: vendorId },
    body: body as Schemas["modal.PatchBody"],
  });
}

export function deleteCampaign(campaign: Campaign, vendorId?: string): Promise<unknown> {
  const path = { campaign_id: campaign.campaignId };
  if (!vendorId) return call("DELETE /campaign-service/campaigns/{campaign_id}", { path });
  return call("DELETE /modal-service/vendors/{vendor_id}/campaigns/{campaign_id}", {
    path: { ...path, vendor_id: vendorId },
  });
}

// createCampaign creates a listing campaign and returns its id.
export async function createCampaign(
  vendor: string,
  body: Schemas["campaign.Body"],
  vendorId?: string,
): Promise<string> {
  if (!vendorId) {
    return (await call("POST /campaign-service/campaigns", { query: { vendor_id: vendor }, body })).campaignId;
  }
  const made = await call("POST /modal-service/vendors/{vendor_id}/campaigns", {
    path: { vendor_id: vendorId },
    body: {
      name: body.name,
      campaignType: "manual",
      promotionType: { adFormat: "listing" },
      budget: { amount: body.budget?.amount ?? 0, type: body.budget?.type as "daily" },
      bids: body.bids.map((bid) => ({
        target: { type: "product" as const, id: bid.target.id },
        ...(bid.amount ? { amount: bid.amount } : {}),
      })),
    },
  });
  return made.campaignId;
}
