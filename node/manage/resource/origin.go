package resource

// Origin is the member of a campaign's stored document that says what created it, where that matters later. It is in this package
// because one resource writes it and another must not lose it.
type Origin struct {
	Origin string `json:"origin,omitempty"`
}

// ShopOrigin marks the campaign for all products of a vendor that the vendors' dialog creates.
const ShopOrigin = "shop"
