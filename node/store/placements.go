package store

import (
	"context"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Placement describes where sponsored brands appear on a storefront, and what their content must have.
type Placement struct {
	Item
	ExternalID string // Chosen by the marketplace, unique, and never changed.
	Name       string
	Template   ids.UUID
	Logo       Range // Number of images.
	Title      Range // Number of characters.
	Products   Range
	Assets     Range // Number of assets of each product.
	HTML       string
	CSS        string
	Inactive   bool
}

// Range is an allowed number of something, both ends included.
type Range struct{ Min, Max int64 }

// Placements returns the collection of placements. Their names are the external ids.
func Placements() Collection[Placement] {
	return newCollection(command.RecordPlacement, command.RecordPlacementIndex, func(x *Placement) string { return x.ExternalID })
}

// CreatePlacement stores a new placement and fills in its id and times. ErrAlreadyExists when the external id is taken.
func (t Tenant) CreatePlacement(ctx context.Context, x *Placement) error {
	return Placements().Create(ctx, t, x)
}
