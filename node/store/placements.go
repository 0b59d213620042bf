package store

import (
	"context"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Placement describes where sponsored brands appear on a storefront, and what their content must have.
type Placement struct {
	ID            ids.UUID
	ExternalID    string // Chosen by the marketplace, unique, and never changed.
	Name          string
	Template      ids.UUID
	Logo          Range // Number of images.
	Title         Range // Number of characters.
	Products      Range
	Assets        Range // Number of assets of each product.
	HTML          string
	CSS           string
	Inactive      bool
	CreatedMillis int64
	UpdatedMillis int64
}

// Range is an allowed number of something, both ends included.
type Range struct{ Min, Max int64 }

// ListPosition is the placement's position in lists.
func (x *Placement) ListPosition() string { return positionOf(x.CreatedMillis, x.ID) }

var placements = collection[Placement]{command.RecordPlacement, command.RecordPlacementIndex, func(x *Placement) itemKey {
	return itemKey{x.ID, x.CreatedMillis, x.ExternalID}
}}

// CreatePlacement stores a new placement and fills in its id and times. ErrAlreadyExists when the external id is taken.
func (t Tenant) CreatePlacement(ctx context.Context, x *Placement) error {
	x.ID, x.CreatedMillis = t.mint(ctx, 0), t.now()
	x.UpdatedMillis = x.CreatedMillis
	stored, err := placements.add(ctx, t, []Placement{*x})
	if err != nil {
		return err
	}
	*x = stored[0]
	return nil
}

// Placement returns a placement, or ErrNotFound.
func (t Tenant) Placement(_ context.Context, id ids.UUID) (Placement, error) {
	at, err := placements.find(t, keyOfID(id))
	return at.item, err
}

// PlacementByExternalID returns the placement with an external id, or ErrNotFound.
func (t Tenant) PlacementByExternalID(_ context.Context, externalID string) (Placement, error) {
	at, err := placements.find(t, keyOfName(externalID))
	return at.item, err
}

// Placements lists the placements, newest first.
func (t Tenant) Placements(_ context.Context, p Page) ([]Placement, bool, error) {
	return placements.list(t, p, func(*Placement) bool { return true })
}

// ChangePlacement rewrites a placement by fn, and returns an error of fn without writing. fn may run several times, on what another
// change left, so it has to check the result itself. If fn changes nothing, the times stay.
func (t Tenant) ChangePlacement(ctx context.Context, id ids.UUID, fn func(*Placement) error) (Placement, error) {
	var refused error
	got, err := placements.change(ctx, t, keyOfID(id), func(x *Placement) {
		before := *x
		if refused = fn(x); refused != nil {
			*x = before
		}
		if before != *x {
			x.UpdatedMillis = t.now()
		}
	})
	if refused != nil {
		return Placement{}, refused
	}
	return got, err
}
