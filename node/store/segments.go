package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// Segment is the definition of a set of users. The users themselves are stored in the engine's segments (dynamicsegments.go).
type Segment struct {
	ID            ids.UUID
	ExternalID    string // Chosen by the marketplace, and unique.
	Name          string
	Description   string
	Definition    json.RawMessage `json:",omitempty"` // The definition of a dynamic segment. Empty for a static one, whose users are uploaded.
	CreatedMillis int64
	UpdatedMillis int64
}

// ListPosition is the segment's position in lists.
func (x *Segment) ListPosition() string { return positionOf(x.CreatedMillis, x.ID) }

// Dynamic reports whether the users follow from a definition.
func (x *Segment) Dynamic() bool { return len(x.Definition) > 0 }

var segments = collection[Segment]{itemKind: command.RecordSegment, indexKind: command.RecordSegmentIndex, key: func(x *Segment) itemKey {
	return itemKey{x.ID, x.CreatedMillis, x.ExternalID}
}}

// Segment returns the segment with an external id, or ErrNotFound.
func (t Tenant) Segment(_ context.Context, externalID string) (Segment, error) {
	at, err := segments.find(t, keyOfName(externalID))
	return at.item, err
}

// PutSegments stores segments, all or nothing, and fills in ids and times. A segment replaces the one with its external id. Its users
// stay, unless its definition changes. *Limit when the marketplace would have more than it may have.
func (t Tenant) PutSegments(ctx context.Context, all []Segment) error {
	row := t.mintSorted(ctx, len(all))
	if err := t.checkDynamic(all); err != nil {
		return err
	}
	ended := map[string]bool{} // Segments that were dynamic and are not any more.
	err := t.retry(ctx, func() (records []command.Record, err error) {
		clear(ended)
		for i := range all {
			x := &all[i]
			at, err := segments.find(t, keyOfName(x.ExternalID))
			if err != nil && !errors.Is(err, ErrNotFound) {
				return nil, err
			}
			x.ID, x.CreatedMillis, x.UpdatedMillis = row[i], t.now(), t.now()
			if err == nil {
				x.ID, x.CreatedMillis = at.item.ID, at.item.CreatedMillis
				records = append(records, segments.record(t, x, at.version))
				ended[x.ExternalID] = at.item.Dynamic() && !x.Dynamic()
				continue
			}
			fresh := segments.newRecords(t, x)
			fresh[0].Max = t.store.Limits.Segments
			records = append(records, fresh...)
		}
		return records, nil
	}, command.AlreadyExists, command.NotFound)
	err = limited(err, "segments", t.store.Limits.Segments)
	for i := range all {
		if x := &all[i]; err == nil && (x.Dynamic() || ended[x.ExternalID]) {
			err = t.defineSegment(ctx, x)
		}
	}
	return err
}

// Segments lists the segments, newest first.
func (t Tenant) Segments(_ context.Context, p Page) ([]Segment, bool, error) {
	return segments.list(t, p, func(*Segment) bool { return true })
}

// CountSegments counts the segments.
func (t Tenant) CountSegments(context.Context) (n int, err error) {
	_, _, err = segments.list(t, Page{}, func(*Segment) bool { n++; return false })
	return n, err
}

// SegmentSize is how many users a segment has.
func (t Tenant) SegmentSize(_ context.Context, externalID string) (int, error) {
	return read(t, t.store.Groups.Meta(), func(b shard.Queries) int { return b.SegmentSize(t.marketplace, externalID) })
}

// UpdateSegmentUsers adds users to a segment, removes them from it or replaces all, in one step. REQUIRES: users are keyed hashes,
// ascending and without repeats. ErrTooMany when the segment would have more than 1,000,000 users; then nothing changes.
func (t Tenant) UpdateSegmentUsers(ctx context.Context, externalID string, action command.SegmentAction, users []uint64) (command.SegmentResult, error) {
	upload := t.mint(ctx, 0)
	pieces := uint32(0)
	for some := range slices.Chunk(users, model.SegmentChunkMax) {
		x := command.StageSegment{Marketplace: t.marketplace, Segment: externalID, Upload: upload, Piece: pieces, Users: some}
		// Staging is no change that anybody sees, so the command carries no audit entry: the commit does.
		meta := t.store.Groups.Meta()
		raw, err := t.proposeOnce(ctx, meta, command.AppendStageSegment(nil, t.now(), &x))
		_, err = result(meta, raw, err)
		if errors.Is(err, ErrTooMany) {
			err = fmt.Errorf("%w: too many uploads of segments are under way", ErrUnavailable)
		}
		if err != nil {
			return command.SegmentResult{}, err
		}
		pieces++
	}
	return t.commitSegment(ctx, &command.CommitSegment{Marketplace: t.marketplace, Segment: externalID, Upload: upload, Pieces: pieces, Action: action})
}

func (t Tenant) commitSegment(ctx context.Context, x *command.CommitSegment) (command.SegmentResult, error) {
	meta := t.store.Groups.Meta()
	raw, err := t.commitAudited(ctx, meta, command.AppendCommitSegment(nil, t.now(), x))
	if err != nil {
		return command.SegmentResult{}, err
	}
	r, err := command.ReadSegmentResult(raw)
	if err != nil {
		return r, fmt.Errorf("answer of group %d: %w", meta, err)
	}
	return r, refusal(command.Result{Refusal: r.Refusal})
}

// clearSegment removes all users of a segment.
func (t Tenant) clearSegment(ctx context.Context, externalID string) error {
	_, err := t.commitSegment(ctx, &command.CommitSegment{
		Marketplace: t.marketplace, Segment: externalID, Upload: t.mint(ctx, 0), Action: command.SegmentDrop,
	})
	return err
}

// DeleteSegment deletes a segment and its users. ErrWrongState while a campaign that is not terminated has it in an enabled
// filter or multiplier.
func (t Tenant) DeleteSegment(ctx context.Context, externalID string) error {
	at, err := segments.find(t, keyOfName(externalID))
	if err != nil {
		return err
	}
	used, err := t.segmentInUse(externalID)
	if err != nil {
		return err
	}
	if used {
		return ErrWrongState
	}
	if err := t.clearSegment(ctx, externalID); err != nil { // The users go first, so that a repeat after a failure still finds the segment.
		return err
	}
	if at.item.Dynamic() {
		if err := t.defineSegment(ctx, &Segment{ExternalID: externalID}); err != nil {
			return err
		}
	}
	return segments.remove(ctx, t, at.item.ID)
}

func (t Tenant) segmentInUse(id string) (bool, error) {
	names := func(c *CampaignState) bool {
		s := &c.Segments
		return c.Status != model.Terminated && (slices.Contains(s.Include, id) || slices.Contains(s.Exclude, id) ||
			slices.ContainsFunc(s.Multipliers, func(m model.SegmentMultiplier) bool { return m.Segment == id }))
	}
	for _, g := range t.store.Groups.Groups() {
		used, err := read(t, g, func(b shard.Queries) bool {
			all, _ := b.Campaigns(t.marketplace, &shard.CampaignFilter{}, 0, math.MaxInt32)
			return slices.ContainsFunc(all, func(c CampaignState) bool { return names(&c) })
		})
		if used || err != nil {
			return used, err
		}
	}
	return false, nil
}
