// Why a bid lost, in words: the loss reasons of the node in the order of its gates, and what would help.
export interface ReasonText {
  short: string;
  why: string;
  help: string;
}

export const reasons: Record<string, ReasonText> = {
  inactive: {
    short: "Paused",
    why: "The campaign or the bid is switched off or has been terminated.",
    help: "Activate the campaign or the bid.",
  },
  not_started: { short: "Not started", why: "The campaign starts later.", help: "Move its start date." },
  ended: { short: "Ended", why: "The campaign has ended.", help: "Move its end date, or create another campaign." },
  not_approved: {
    short: "Not approved",
    why: "The campaign awaits review or was rejected, or no asset of the banner is approved.",
    help: "Review the campaign and its assets.",
  },
  product_inactive: {
    short: "Product inactive",
    why: "The target is not an active product of the catalog.",
    help: "Check the product in the catalog.",
  },
  trigger: {
    short: "No trigger",
    why: "No keyword, category or product of the bid matches the request.",
    help: "Add a trigger that matches, or check what the storefront sends.",
  },
  device: {
    short: "Other device",
    why: "The bid is for another device than the request names.",
    help: "Add an asset for the device.",
  },
  geo: {
    short: "Other location",
    why: "The bid is for another location than the request names.",
    help: "Change the bid's location.",
  },
  segment: {
    short: "Not in the segment",
    why: "The user is in none of the segments that the campaign targets.",
    help: "Check the segment's members and the request's user id.",
  },
  excluded: {
    short: "Excluded",
    why: "The user is in an excluded segment, or a negative keyword matched.",
    help: "Check exclusions and negative keywords.",
  },
  filter: {
    short: "Filtered",
    why: "The filter of the request excludes the product.",
    help: "Check the filter that the storefront sends.",
  },
  reserve: {
    short: "Below reserve",
    why: "The bid is not above the reserve price, or the product's quality is 0.",
    help: "Raise the bid, or lower the reserve price in the settings.",
  },
  stale: {
    short: "Balances too old",
    why: "This node's copy of the campaign's balances is too old to spend from.",
    help: "See the cluster page: the node has lost contact with its leader.",
  },
  budget: {
    short: "Budget spent",
    why: "The budget of this period is used up or held for open clicks.",
    help: "Raise the budget.",
  },
  wallet: { short: "Wallet empty", why: "The vendor's wallet has nothing left.", help: "Add money to the wallet." },
  pacing: {
    short: "Held back by pacing",
    why: "The campaign is held back to spread its budget over the day.",
    help: "Raise the budget.",
  },
  frequency: {
    short: "Frequency cap",
    why: "The user has seen the campaign as often as its cap allows.",
    help: "Raise the cap.",
  },
  exclusive: {
    short: "Exclusive",
    why: "An exclusive campaign has the product.",
    help: "Wait for its end, or bid on other products.",
  },
  diversity: {
    short: "Already won",
    why: "The product, or its vendor as often as allowed, has won a better rank of this auction.",
    help: "This is normal; see the winners per vendor in the settings.",
  },
  outranked: {
    short: "Outranked",
    why: "Others had a higher score: bid times quality.",
    help: "Raise the bid to at least the amount needed.",
  },
  holdout: {
    short: "Held out",
    why: "The user never sees the campaign, or in an experiment no ads at all, so that the effect can be measured.",
    help: "Nothing is wrong. Lower the campaign's holdout percentage, or look at its incrementality report or the experiment.",
  },
};

export const reasonOf = (name: string): ReasonText => reasons[name] ?? { short: name, why: name, help: "" };
