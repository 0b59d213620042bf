// Package bidid creates and verifies the resolvedBidId: the authenticated token that an auction winner carries and that
// an event sends back. The token contains campaign, price and charge type of the charge, so that the rest of an event
// cannot change them and no look-up is needed to charge an event. DESIGN.md gives the reasons.
package bidid

import (
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// TextLen is the length of a token: 60 bytes (48 of payload, 12 of tag) in base64url without padding.
const TextLen = 80

// Payload is the content of a token. layout.go describes its 48 bytes.
type Payload struct {
	KeyID          uint8
	Marketplace    uint16
	Node           uint16
	Epoch          uint32 // Start number of the node; it grows with every start.
	IssuedMillis   int64  // Unix milliseconds, 48 bits.
	Seq            uint64 // Number of the auction in (node, epoch), 48 bits.
	Rank           uint8
	Charge         model.ChargeType
	Format         Format
	External       bool // The bid came from demandSources: it is recorded and never charged.
	Shard          ids.Shard
	PlacementIndex uint8  // The auction's placementId, 0 for none.
	Weight         uint16 // Probability that the win is charged, in units of 2^-16; 65535 means 1.
	Campaign       uint32 // Ordinal in the group.
	Bid            uint32 // Ordinal in the group.
	ProductHash    uint64 // Only for External, instead of Campaign and Bid.
	Variant        uint16
	Price          money.Micros // Per charged interaction.
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
