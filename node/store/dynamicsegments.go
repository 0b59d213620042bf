package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/behavior"
	"github.com/gavel-ads/gavel/shard/command"
)

// The definition of a dynamic segment is a record like that of a static one. The engine knows the dynamic segments by a
// hash of their definitions. Both are written one after the other; when the second write fails, AlignSegments and
// EvaluateSegments repeat it.

// definitionHash identifies a definition in the engine.
func (x *Segment) definitionHash() [16]byte {
	sum := sha256.Sum256(x.Definition)
	return [16]byte(sum[:16])
}

// rules decodes the definition of a dynamic segment.
func (x *Segment) rules() (d behavior.Definition) {
	if err := json.Unmarshal(x.Definition, &d); err != nil {
		panic("store: a stored definition is not JSON: " + err.Error())
	}
	return d
}

// evaluatesSegments reports whether all groups have reached the level at which dynamic segments are evaluated.
func (s *Store) evaluatesSegments() (ready bool, err error) {
	ready = true
	for _, g := range s.Groups.Groups() {
		err := s.readGroup(g, func(b shard.Queries) { ready = ready && b.FeatureLevel() >= command.LevelDynamicSegments })
		if err != nil {
			return false, err
		}
	}
	return ready, nil
}

// defineSegment makes the engine know the definition of a dynamic segment, or that a segment is not dynamic any more. Below
// the level it does nothing, and AlignSegments does it later. A *Limit when the marketplace has DynamicSegmentsMax already.
//
// The users who were uploaded to a dynamic segment are removed first, by everybody who calls this: one who only defined it
// would leave them stored, and they would be in the segment again when it is static.
func (t Tenant) defineSegment(ctx context.Context, x *Segment) error {
	if x.Dynamic() {
		if err := t.clearUploaded(ctx, x.ExternalID); err != nil {
			return err
		}
	}
	ready, err := t.store.evaluatesSegments()
	if err != nil || !ready {
		return err
	}
	c := command.DefineSegment{Marketplace: t.marketplace, Segment: x.ExternalID, Drop: !x.Dynamic()}
	if x.Dynamic() {
		c.Definition = x.definitionHash()
	}
	_, err = t.propose(ctx, t.store.Groups.Meta(), command.AppendDefineSegment(nil, t.now(), &c))
	return limited(err, "dynamic segments", shard.DynamicSegmentsMax)
}

// clearUploaded removes the users who were uploaded to a segment, if there are any.
func (t Tenant) clearUploaded(ctx context.Context, externalID string) error {
	n, err := read(t, t.store.Groups.Meta(), func(b shard.Queries) int { return b.UploadedSize(t.marketplace, externalID) })
	if err != nil || n == 0 {
		return err
	}
	return t.clearSegment(ctx, externalID)
}

// dynamicSegments lists the dynamic segments that the engine knows.
func (t Tenant) dynamicSegments() ([]shard.DynamicSegment, error) {
	return read(t, t.store.Groups.Meta(), func(b shard.Queries) []shard.DynamicSegment { return b.DynamicSegments(t.marketplace) })
}

// checkDynamic returns a *Limit when segments would make a marketplace have too many dynamic ones.
func (t Tenant) checkDynamic(all []Segment) error {
	fresh := map[string]bool{}
	for i := range all {
		if all[i].Dynamic() {
			fresh[all[i].ExternalID] = true
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	known, err := t.dynamicSegments()
	if err != nil {
		return err
	}
	for i := range known {
		fresh[known[i].ID] = true
	}
	for i := range all {
		if !all[i].Dynamic() {
			delete(fresh, all[i].ExternalID)
		}
	}
	if len(fresh) > shard.DynamicSegmentsMax {
		return &Limit{What: "dynamic segments", Max: shard.DynamicSegmentsMax}
	}
	return nil
}

// DynamicMarketplaces lists the marketplaces with dynamic segments, or with anything that groups still keep for them.
func (s *Store) DynamicMarketplaces() (all []uint16, err error) {
	for _, g := range s.Groups.Groups() {
		if err := s.readGroup(g, func(b shard.Queries) { all = append(all, b.DynamicMarketplaces()...) }); err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// AlignSegments makes the engine know the dynamic segments that it should know and does not: those that were stored below
// the level, and those whose second write failed. It reads all segments of the marketplace.
func (t Tenant) AlignSegments(ctx context.Context) error {
	ready, err := t.store.evaluatesSegments()
	if err != nil || !ready {
		return err
	}
	stored, _, err := segments.list(t, Page{Limit: math.MaxInt}, func(x *Segment) bool { return x.Dynamic() })
	if err != nil || len(stored) == 0 {
		return err
	}
	known, err := t.dynamicSegments()
	if err != nil {
		return err
	}
	definitions := map[string][16]byte{}
	for i := range known {
		definitions[known[i].ID] = known[i].Definition
	}
	for i := range stored {
		x := &stored[i]
		if definition, found := definitions[x.ExternalID]; !found || definition != x.definitionHash() {
			err = errors.Join(err, t.defineSegment(ctx, x))
		}
	}
	return err
}

// SegmentProgress returns for each dynamic segment how much is evaluated of what users did before it was defined, in percent.
func (t Tenant) SegmentProgress(context.Context) (map[string]int, error) {
	known, err := t.dynamicSegments()
	if err != nil {
		return nil, err
	}
	groups := t.store.dataGroups()
	percent := make(map[string]int, len(known))
	for i := range known {
		x := &known[i]
		if x.Backfill.Done {
			percent[x.ID] = 100
			continue
		}
		first, last := segmentDays(x.AsOfMillis, behavior.KnownDays)
		days := int(last - first + 1)
		for at, g := range groups {
			if g == x.Backfill.Group {
				percent[x.ID] = 100 * (at*days + int(min(max(x.Backfill.Day, first), last)-first)) / (len(groups) * days)
			}
		}
	}
	return percent, nil
}
