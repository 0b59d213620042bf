package model

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Marketplace is one marketplace and its settings.
type Marketplace struct {
	Ordinal          uint16 // 1 and up, never reused; 0 is no marketplace.
	ID               ids.UUID
	Name             string
	Suspended        bool
	CurrencyCode     string                    // ISO 4217.
	CurrencyExponent uint8                     // Digits of a minor unit, 0 to money.MaxExponent.
	TimeZone         string                    // IANA name; resolved outside the engine.
	Reserve          [ChargeTypes]money.Micros // Reserve price by charge type.
	PostPaid         bool                      // Billing mode post: the wallet does not gate auctions and may go below zero.
	ApproveAssets    bool                      // New assets need no review.
	ReviewCampaigns  bool                      // Campaigns that vendors make themselves start as pending.
	ExternalDemand   ExternalDemand
	H3               bool          // geoMode h3: locations are H3 cells, and a bid's cell contains its descendants.
	VendorMax        uint8         // Maximum number of winners of one vendor in one auction; 0: no limit.
	Reserves         []ReserveRule // At most ReserveRulesMax.
	CarriesOver      bool          // A day may spend what earlier days of its month left of a daily budget (ledger.Carryover).
	// LearnedQualityMilli is the exponent of the learned quality factor in thousandths, 0 to learn.ExponentOne; 0: the
	// factor is 1. See package learn.
	LearnedQualityMilli uint16
	TrafficDates        []TrafficDate // At most TrafficDatesMax, by day, each day once.
	TouchDays           uint8         // For how many UTC days, the current one included, touches are kept; 0 is the default, 90.
	EventDays           uint8         // For how many UTC days, the current one included, reported events are kept; 0: not at all. At most EventDaysMax.
	Attribution         Attribution   // Decides the credits of purchases from the moment it is set.
	ClickRules          ClickRules    // By which clicks are invalid; zero: by none.
	Experiment          Experiment    // Runs, or ran last.
	Closings            uint32        // How often it was closed and opened again (Closed). INVARIANT: it never goes back.
	CreatedMillis       int64
	UpdatedMillis       int64
}

// EventDaysMax is the largest Marketplace.EventDays.
const EventDaysMax = 30

// Closed reports whether the marketplace changes no more in this cluster, because it is being moved to another cell or has been.
func (m *Marketplace) Closed() bool { return m.Closings%2 == 1 }

// TrafficDate is what the operator expects of the traffic of one local date, as a multiple of what was learned.
type TrafficDate struct {
	Day         uint32 // Local days since 1970-01-01.
	FactorMilli uint32 // In thousandths, at most TrafficFactorMax; 1,000 changes nothing.
}

// Bounds of the traffic dates of a marketplace.
const (
	TrafficDatesMax  = 200 // BOUND: settings are written and copied to every group as a whole.
	TrafficFactorMax = 100_000
)

// ExternalDemand is the marketplace's policy for demandSources in auctions.
type ExternalDemand struct {
	Disabled bool
	Sources  []string // Allowed sources; empty allows any.
	OwnValue string   // The demandSource value of own winners, "gavel" by default.
}
