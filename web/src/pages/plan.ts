// What an even spend would have used by now, for the line in the bar of a budget.
import type { Schemas } from "../api/schema";

// planOf returns the amount for a daily budget, whose period begins at midnight UTC in this approximation; for other
// budgets it returns nothing, because their periods depend on settings that the list does not carry.
export function planOf(campaign: Schemas["campaign.Campaign"], now = Date.now()): number | undefined {
  if (campaign.budget?.type !== "daily" || !campaign.isActive) return undefined;
  const share = (now % 86_400_000) / 86_400_000;
  return Math.floor(campaign.budget.amount * share);
}
