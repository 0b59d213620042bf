// Package bidid mints and opens the resolvedBidId: the authenticated token that an auction winner carries and that an
// event hands back. It alone fixes the campaign, the price and the charge type of a charge, so that nothing in an event
// can change them and no look-up is needed to charge one.
package bidid

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// TextLen is the length of a token: 60 bytes (48 of payload, 12 of tag) in base64url without padding.
const TextLen = 80

// Payload is what a token says. The layout of its 48 bytes is in DESIGN.md.
type Payload struct {
	KeyID        uint8
	Marketplace  uint16
	Node         uint16
	Epoch        uint32 // Start number of the node, always growing.
	IssuedMillis int64  // 48 bits.
	Seq          uint64 // 48 bits: auction number in (node, epoch).
	Rank         uint8
	Charge       market.ChargeType
	Format       Format
	External     bool // The bid came from demandSources: recorded, never charged.
	Shard        ids.Shard
	Placement    uint8
	Weight       uint16 // Probability that the win is charged, in 2^-16 units; 65535 is certain.
	Campaign     uint32 // Ordinal in the group.
	Bid          uint32 // Ordinal in the group.
	ProductHash  uint64 // External only, in place of Campaign and Bid.
	Variant      uint16
	Price        money.Micros // Per charged interaction.
}

// Format is the auction operation that issued a token.
type Format uint8

// The formats.
const (
	ListingFormat Format = iota
	BannerFormat
	BrandFormat
	HotelFormat
	FlightFormat
)
