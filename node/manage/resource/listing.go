package resource

import "github.com/gavel-ads/gavel/shard/market"

// Origin is the member of a campaign's stored document that says what created it, where that matters later. It is in this package
// because one resource writes it and another must not lose it.
type Origin struct {
	Origin string `json:"origin,omitempty"`
}

// ShopOrigin marks the campaign for all products of a vendor that the vendors' dialog creates.
const ShopOrigin = "shop"

// ListingTriggers make a listing bid compete in auctions that name its product, and in those of the product's categories.
func ListingTriggers(product string) []market.Trigger {
	return []market.Trigger{{Kind: market.TriggerProduct, Value: product}, {Kind: market.TriggerCategories, Value: product}}
}

// ListingBid is a bid on a product with the default triggers of listings.
func ListingBid(product string) market.Bid {
	return market.Bid{Target: product, TargetType: market.TargetProduct, Active: true, Triggers: ListingTriggers(product)}
}
