package store

import (
	"context"
	"encoding/json"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Segment is the definition of a set of users. Who is in it lies apart, in the engine's segments.
type Segment struct {
	ID            ids.UUID
	ExternalID    string // Unique, the marketplace's own.
	Name          string
	Description   string
	Definition    json.RawMessage // Of a dynamic segment; empty for a static one, whose users are uploaded.
	CreatedMillis int64
	UpdatedMillis int64
}

// Place is the segment's position in lists.
func (x *Segment) Place() string { return placeOf(x.CreatedMillis, x.ID) }

// Dynamic reports whether the members follow from a definition.
func (x *Segment) Dynamic() bool { return len(x.Definition) > 0 }

var segments = shelf[Segment]{command.RecordSegment, command.RecordSegmentIndex, func(x *Segment) label {
	return label{x.ID, x.CreatedMillis, x.ExternalID}
}}

// Segment returns the segment with an external id, or ErrNotFound.
func (t Tenant) Segment(_ context.Context, externalID string) (Segment, error) {
	at, err := segments.find(t, keyOfName(externalID))
	return at.thing, err
}
