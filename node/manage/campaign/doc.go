// Package campaign serves campaigns and their bids to marketplaces, agencies and vendors, the types of restrictions,
// forecasts of campaigns, and explanations of auctions. The rules about campaigns are in node/campaigns; each entry
// point only converts bodies.
//
// # Campaigns
//
// Everything that auctions read of a campaign is a typed member of model.Campaign and holds the rules that are in
// force. What the marketplace sent, enabled or not, is stored as a document and returned in answers; one command
// changes both.
//
// A creative is checked in the order of the interface before it is stored: its members, then that everything it refers
// to exists (404, 409), then its content against the template and the bounds of the placement (422). Campaigns of a
// deleted vendor are deactivated, see store.Tenant.DeleteVendors, and cannot be activated before the vendor exists
// again.
//
// Limits: the number of images of a product is not checked. Logos are counted if the template has a property logo; a
// title is checked if it is present, not required. A template that is archived at the moment in which a bid is created
// may get that bid. Restrictions of conversions (types 7 to 9 and 16 to 18) are stored and shown, but the engine does
// not count conversions yet. The types of restrictions are a fixed table.
//
// What pacing does with a budget (PacingState) is the last decision that the leader of the campaign's group replicated,
// so it is some seconds old, and null for a campaign about which nothing was decided yet. Its estimates are those of
// package pacing. A daily budget may carry over what earlier days left, as the setting budgetCarryover says; see
// ledger.Carryover. Targets of autobidding and exclusive campaigns act in auctions: see model.Campaign.HasBase and
// exclusive.go of package auction. Two exclusive campaigns of vendors of different groups that take a product at the
// same moment may both be created.
//
// # Agencies
//
// Agencies see the campaigns of all vendors in one list, with their budgets. The operations are served under `agency`,
// `toppie` and the areas of management.agency_areas. A new campaign bids on each product the upper bound of most bids
// of the marketplace (store.BidRange), once. That amount is the ceiling of what targetRoas lets the campaign bid.
//
// # The vendors' dialog
//
// Vendors promote products in a dialog on the marketplace's own pages. These pages run in browsers, so they have no key
// but a token, which the marketplace's server requests for one vendor and which is valid for an hour. The requests and
// answers are those of the published client @topsort/building-blocks. In the interface the dialog is called modal.
// DESIGN.md describes what the client expects.
//
// # Forecasts
//
// A forecast is the expected result of a campaign. It runs the auctions that were recorded last once more, with the
// campaign, on the same engine. What a replay cannot know is left out of the result; see Forecast.
//
// The core records one live request in explain.sample, up to 10,000 requests or 32 MiB. For a forecast the market is
// frozen once, with the campaign and without its stored self (market.Suppose), and the recorded auctions run on it with
// their own numbers and times. The campaign's dates, isActive, review, restrictions and wallet are ignored. The wins
// are scaled by the sampling rate and to a day. Clicks and spend follow from rates that were counted, of the campaign
// or of the marketplace. Without recorded auctions, or without impressions for the rates, the numbers are null.
// Intervals have a confidence of 90 %.
//
// Limits: a forecast knows the traffic of the asked node, since its start or as far as the recording goes; the sum over
// all nodes is that of the cluster. Each win counts as an impression unless view_percent says otherwise. A budget is
// spread over its period by lower bids, found by at most six replays more (see pace); the hours of the day are not told
// apart. Search terms of bids that were only forecast stay in memory until a restart.
//
// # Explanations
//
// Any auction body is explained by a run without effect, and a sample of the live auctions is kept. The core explains
// bids by their numbers in their groups; this package adds their ids, with which a losing bid can be changed. A bid
// that was deleted in between is still named.
//
// Limits: explainAuctions accepts bodies of /v2, so a mistake inside one is answered with the code of /v2 and 400; only
// a body that is not an object is a 422. listRecentAuctions and listFill show what the asked node answered, and lose it
// at a restart.
package campaign
