package model

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// ChargeType says which interaction a bid pays for.
type ChargeType uint8

// The charge types. Their numbers are part of the resolvedBidId and of stored records.
const (
	ChargeNone ChargeType = iota
	CPC
	CPM
	CPA
	ChargeTypes = 4
)

// NeedsTotal reports whether campaigns of the charge type need a budget of period Total: a purchase is charged when it is attributed,
// which a budget of a period that is over would not bound.
func (t ChargeType) NeedsTotal() bool { return t == CPA }

// AdFormat is the kind of ad a campaign buys.
type AdFormat uint8

// The ad formats. Their numbers are part of stored records.
const (
	Listing AdFormat = iota
	Banner
	SponsoredBrand
	AdFormats = int(SponsoredBrand) + 1
)

// Period is the length of a budget.
type Period uint8

// The budget periods.
const (
	Daily Period = iota
	Weekly
	Monthly
	Total
)

// Pacing says how a budget of period Total is spent. Other budgets are always spread over their period.
type Pacing uint8

// The kinds of pacing.
const (
	PacingFast Pacing = iota // As fast as the campaign can win.
	PacingEven               // Spread over the campaign's dates. INVARIANT: only a budget of period Total with an end is.
)

// Status is the review state of a campaign.
type Status uint8

// The campaign states.
const (
	Pending Status = iota
	Approved
	Rejected
	Terminated
)

// PriceRule says what a winner pays.
type PriceRule uint8

// The price rules.
const (
	SecondPrice PriceRule = iota
	FirstPrice
)

// The types of campaigns. They are part of stored records.
const (
	Manual = "manual"
	// Autobidding campaigns bid what meets their target return, at most their bid amounts (Campaign.HasReturn).
	Autobidding = "autobidding"
	// Exclusive campaigns are sponsorships: while one runs and can pay, no other campaign of its format wins on its product
	// targets. It pays its own bid.
	Exclusive = "exclusive"
)

// Campaign is an advertising campaign of a vendor, with one budget, one wallet and many bids. Its balances are not part
// of it; see market.Balances.
type Campaign struct {
	ID              ids.UUID // Its shard equals the shard of the vendor's account.
	Ordinal         uint32   // Within the raft group, from 1, never reused; part of the resolvedBidId.
	Group           ids.Group
	Marketplace     uint16
	VendorID        string
	Wallet          ids.UUID
	Name            string
	Type            string // One of the types above.
	Format          AdFormat
	Charge          ChargeType
	Price           PriceRule
	Budget          money.Micros // Per period; 0 means limited by the wallet only.
	Period          Period
	Pacing          Pacing
	StartMillis     int64
	EndMillis       int64 // 0: no end.
	Active          bool
	AutoTrigger     bool
	Status          Status
	StatusUpdatedBy string
	ExternalID      string // externalCampaignId, unique per marketplace and format; may be empty.
	TargetROASMilli uint32 // Target return on ad spend in thousandths; 0: none.
	CreatedMillis   int64
	UpdatedMillis   int64
	Products        []string // productIds of a banner or sponsored-brand campaign.
	Segments        SegmentRules
	// Schedule holds the factor of the bids in each local hour of the week, from Monday 00:00, in units of 1/ScheduleOne.
	// With 0 the campaign does not compete in that hour. It has ScheduleHours values, or none: bids are unchanged at all
	// hours.
	Schedule []uint16
	Caps     []Cap // Frequency restrictions in force, at most one of each type.
	// HoldoutPercent is the share of users who never see the campaign, so that they can be compared with others; at most
	// HoldoutPercentMax. See market.Holdout.
	HoldoutPercent uint8
	Document       []byte // Further members as the management API stored them; opaque to the engine.
}

// HoldoutPercentMax bounds HoldoutPercent, because as many users are compared with those held out.
const HoldoutPercentMax = 50

// HasReturn reports whether a campaign is steered toward its target return: it pays by the click and bids by itself.
func (c *Campaign) HasReturn() bool {
	return c.Type == Autobidding && c.TargetROASMilli != 0 && c.Charge == CPC
}

// HasBase reports whether the bids of a campaign have a base bid that may be below their amount. Banners and sponsored
// brands have none, because their targets need not be products.
func (c *Campaign) HasBase() bool { return c.HasReturn() && c.Format == Listing }
