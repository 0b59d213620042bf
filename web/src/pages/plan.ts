// What an even spend would have used by now, for the line in the bar of a budget.
import type { Schemas } from "../api/schema";

const clocks = new Map<string, Intl.DateTimeFormat>();

// shareOfDay returns which part of the day has passed in a time zone, from 0 to 1.
export function shareOfDay(timeZone: string, now: Date): number {
  let clock = clocks.get(timeZone);
  if (!clock) {
    clock = new Intl.DateTimeFormat("en-GB", {
      timeZone,
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23",
    });
    clocks.set(timeZone, clock);
  }
  const [hours = 0, minutes = 0, seconds = 0] = clock.format(now).split(":").map(Number);
  return (hours * 3_600 + minutes * 60 + seconds) / 86_400;
}

// planOf returns the amount for a daily budget, whose period is a day of the marketplace. It returns nothing for
// other budgets, because the list does not say when their periods began, and for a campaign that is paused.
export function planOf(campaign: Schemas["campaign.Campaign"], timeZone: string, now = new Date()): number | undefined {
  if (campaign.budget?.type !== "daily" || !campaign.isActive) return undefined;
  return Math.floor(campaign.budget.amount * shareOfDay(timeZone, now));
}
