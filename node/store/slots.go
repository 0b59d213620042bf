package store

import (
	"context"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Slot is a media slot: a position on a storefront that shows banners.
type Slot struct {
	ID            ids.UUID
	ExternalID    string // Chosen by the marketplace, and unique.
	Position      string // category, search, category_search or landing.
	Desktop       *Size  // Nil when the slot is not shown on desktops; Mobile alike.
	Mobile        *Size
	Page          *SlotPage // Nil when the marketplace did not set it.
	Inactive      bool
	Fallback      []Fallback // Shown when no bid wins; at most one for each device.
	CreatedMillis int64
	UpdatedMillis int64
}

// Size is a width and a height in pixels.
type Size struct{ Width, Height int64 }

// SlotPage is the page of the storefront that a slot is on.
type SlotPage struct{ Name, URL, ImageURL string }

// Fallback is a banner that belongs to the marketplace itself.
type Fallback struct {
	DeviceType      string
	URL             string
	Width, Height   int64
	ContentType     string
	DestinationType string
	DestinationID   string
}

// ListPosition is the slot's position in lists.
func (s *Slot) ListPosition() string { return positionOf(s.CreatedMillis, s.ID) }

var slots = collection[Slot]{itemKind: command.RecordMediaSlot, indexKind: command.RecordMediaSlotIndex, key: func(s *Slot) itemKey {
	return itemKey{s.ID, s.CreatedMillis, s.ExternalID}
}}

// CreateSlots stores new slots, all or nothing, and fills in their ids and times. ErrAlreadyExists when an external id is taken or
// repeated.
func (t Tenant) CreateSlots(ctx context.Context, all []Slot) ([]Slot, error) {
	now, row := t.now(), t.mintSorted(ctx, len(all))
	for i := range all {
		all[i].ID = row[i]
		all[i].CreatedMillis, all[i].UpdatedMillis = now, now
	}
	return slots.add(ctx, t, all)
}

// Slots lists the slots for which keep returns true, newest first.
func (t Tenant) Slots(_ context.Context, p Page, keep func(*Slot) bool) ([]Slot, bool, error) {
	return slots.list(t, p, keep)
}

// Slot returns the slot with an external id or, when no slot has it, the slot with that Gavel id; else ErrNotFound.
func (t Tenant) Slot(_ context.Context, named string) (Slot, error) {
	at, err := slots.find(t, keyOfName(named))
	if id, bad := ids.Parse(named); errors.Is(err, ErrNotFound) && bad == nil {
		at, err = slots.find(t, keyOfID(id))
	}
	return at.item, err
}

// ChangeSlot rewrites a slot, named as for Slot. fn may run several times.
func (t Tenant) ChangeSlot(ctx context.Context, named string, fn func(*Slot)) (Slot, error) {
	at, err := t.Slot(ctx, named)
	if err != nil {
		return Slot{}, err
	}
	return slots.change(ctx, t, keyOfID(at.ID), func(s *Slot) {
		fn(s)
		s.UpdatedMillis = t.now()
	})
}
