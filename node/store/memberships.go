package store

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/behavior"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Bounds of a round of evaluation. BOUND: a user takes a read for each day and group, some hundred microseconds; together
// they stay below command.MembersMax.
const (
	roundMarksMax    = command.MarksMax // Of all groups together.
	roundDueMax      = 1_024            // Of each segment.
	roundBackfillMax = 1_024            // Of each segment.
)

// segmentRound is one round of evaluation of the dynamic segments of a marketplace.
//
// It evaluates users as of a time that the clocks of all groups have passed, from what they had committed until then. So
// the result is the same on every node, now and later, and only its order with others matters, which the engine checks.
type segmentRound struct {
	t        Tenant
	segments []evaluatedSegment
	asOf     int64
	marks    map[ids.Group][]command.UserMark
	users    map[uint64]uint32 // The segments for which a user is evaluated, one bit for each index.
	more     bool              // There is more to evaluate than fits in the round.
	actions  actionReader
}

// evaluatedSegment is a dynamic segment in a round.
type evaluatedSegment struct {
	shard.DynamicSegment
	rules   behavior.Definition
	next    command.Backfill // After the round.
	members []command.Membership
}

const _ = uint32(1) << (shard.DynamicSegmentsMax - 1) // A bit for each segment.

// EvaluateSegments evaluates who belongs to the dynamic segments of a marketplace: the users who did something, those for
// whom a window has passed, and, for a new definition, those who did something before. more says that there is more to do.
// It may be called by several nodes at the same time, and again after any failure.
func (t Tenant) EvaluateSegments(ctx context.Context) (more bool, err error) {
	ready, err := t.store.evaluatesSegments()
	if err != nil || !ready {
		return false, err
	}
	r := segmentRound{t: t, marks: map[ids.Group][]command.UserMark{}, users: map[uint64]uint32{}}
	for _, step := range []func(context.Context) (bool, error){r.readDefinitions, r.watch, r.collect} {
		if ok, err := step(ctx); err != nil || !ok {
			return false, err
		}
	}
	if err := r.evaluate(); err != nil {
		return false, err
	}
	err = r.commit(ctx)
	if errors.Is(err, ErrChanged) || errors.Is(err, ErrNotFound) {
		return false, nil // Another node is ahead, or a definition was replaced. The marks are still there.
	}
	return r.more && err == nil, err
}

// readDefinitions reads the segments with their definitions. It reports false when the engine knew other definitions than
// those that are stored; then it knows them now.
func (r *segmentRound) readDefinitions(ctx context.Context) (ok bool, err error) {
	var stale []Segment
	r.segments, err = read(r.t, r.t.store.Groups.Meta(), func(b shard.Queries) (all []evaluatedSegment) {
		for _, known := range b.DynamicSegments(r.t.marketplace) {
			at, found := segments.lookup(b, r.t, keyOfName(known.ID))
			if !found || !at.item.Dynamic() || at.item.definitionHash() != known.Definition {
				at.item.ExternalID = known.ID
				stale = append(stale, at.item)
				continue
			}
			all = append(all, evaluatedSegment{DynamicSegment: known, rules: at.item.rules(), next: known.Backfill})
		}
		return all
	})
	for i := range stale {
		err = errors.Join(err, r.t.defineSegment(ctx, &stale[i]))
	}
	return len(stale) == 0, err
}

// watch makes all groups mark the users of the actions on which the definitions depend. It reports false when a group on this
// node did not: what it has committed so far may lack marks.
func (r *segmentRound) watch(ctx context.Context) (ok bool, err error) {
	x := command.WatchUsers{Marketplace: r.t.marketplace}
	for i := range r.segments {
		x.Kinds |= r.segments[i].rules.Kinds()
	}
	ok = true
	for _, g := range r.t.store.dataGroups() {
		if err := r.t.store.readGroup(g, func(b shard.Queries) { x.Was = b.Watched(r.t.marketplace) }); err != nil {
			return false, err
		}
		if x.Was == x.Kinds {
			continue
		}
		ok = false
		err := r.t.store.proposeRepeatable(ctx, g, command.AppendWatchUsers(nil, r.t.now(), &x))
		if err != nil && !errors.Is(err, ErrChanged) {
			return false, err
		}
	}
	return ok, nil
}

// collect chooses the time of the round and lists its users. It reports false when this node has not reached the time of the
// last round.
func (r *segmentRound) collect(context.Context) (ok bool, err error) {
	passed, err := r.t.store.clockOfAll()
	if err != nil {
		return false, err
	}
	r.asOf = passed - 1
	if r.asOf < 0 || slices.ContainsFunc(r.segments, func(x evaluatedSegment) bool { return r.asOf < x.AsOfMillis }) {
		return false, nil
	}
	if err := r.collectMarks(); err != nil {
		return false, err
	}
	for i := range r.segments {
		if err := r.collectOf(i); err != nil {
			return false, err
		}
	}
	return true, nil
}

// collectMarks lists the users who are marked, for all segments.
func (r *segmentRound) collectMarks() error {
	groups := r.t.store.dataGroups()
	each := max(1, roundMarksMax/len(groups))
	for _, g := range groups {
		err := r.t.store.readGroup(g, func(b shard.Queries) { r.marks[g] = b.UserMarks(r.t.marketplace, r.asOf, each) })
		if err != nil {
			return err
		}
		for _, mark := range r.marks[g] {
			r.users[mark.User] = 1<<len(r.segments) - 1
		}
		r.more = r.more || len(r.marks[g]) == each
	}
	return nil
}

// collectOf lists the users of one segment for whom a window has passed, and those of its back-fill.
func (r *segmentRound) collectOf(i int) error {
	x := &r.segments[i]
	due, err := read(r.t, r.t.store.Groups.Meta(), func(b shard.Queries) []uint64 { return b.DueMembers(x.Number, r.asOf, roundDueMax) })
	if err != nil {
		return err
	}
	before, err := r.backfill(x)
	if err != nil {
		return err
	}
	for _, user := range slices.Concat(due, before) {
		r.users[user] |= 1 << i
	}
	r.more = r.more || len(due) == roundDueMax || !x.next.Done
	return nil
}

// backfill lists the next users who did something before a segment was defined.
func (r *segmentRound) backfill(x *evaluatedSegment) (users []uint64, err error) {
	if x.Backfill.Done {
		return nil, nil
	}
	first, last := segmentDays(r.asOf, behavior.KnownDays)
	at := &x.next
	for _, g := range r.t.store.dataGroups() {
		if g < at.Group {
			continue
		}
		if g > at.Group {
			*at = command.Backfill{Group: g}
		}
		if at.Day < first {
			at.Day, at.User = first, 0
		}
		err := r.t.store.readGroup(g, func(b shard.Queries) {
			for at.Day <= last && len(users) < roundBackfillMax {
				some := b.UsersOn(r.t.marketplace, at.Day, at.User, roundBackfillMax-len(users))
				users = append(users, some...)
				if len(users) == roundBackfillMax {
					at.User = some[len(some)-1]
					return
				}
				at.Day, at.User = at.Day+1, 0
			}
		})
		if err != nil || len(users) == roundBackfillMax {
			return users, err
		}
	}
	*at = command.Backfill{Done: true}
	return users, nil
}

// segmentDays returns the first and the last day with actions of a number of days before a time. An action may be dated a
// little later than the time.
func segmentDays(asOf int64, days int) (first, last uint32) {
	const dayMillis = 24 * hourMillis
	return uint32(max(asOf/dayMillis-int64(days), 0)), uint32(asOf/dayMillis + 1) // Days fit 32 bits.
}

// evaluate evaluates the users of the round.
func (r *segmentRound) evaluate() error {
	if len(r.segments) == 0 {
		return nil
	}
	days := 0
	for i := range r.segments {
		days = max(days, r.segments[i].rules.Days())
		r.actions.catalog = r.actions.catalog || r.segments[i].rules.UsesCatalog()
	}
	r.actions.t, r.actions.asOf = r.t, r.asOf
	r.actions.first, r.actions.last = segmentDays(r.asOf, days)
	for _, user := range slices.Sorted(maps.Keys(r.users)) {
		did, err := r.actions.of(user)
		if err != nil {
			return err
		}
		for i := range r.segments {
			if x := &r.segments[i]; r.users[user]>>i&1 != 0 {
				member, changes := x.rules.Evaluate(did, r.asOf)
				x.members = append(x.members, command.Membership{User: user, Member: member, ChangesMillis: changes})
			}
		}
	}
	return nil
}

// commit stores the results, and then deletes the marks that led to them.
func (r *segmentRound) commit(ctx context.Context) error {
	s := r.t.store
	for i := range r.segments {
		x := &r.segments[i]
		if len(x.members) == 0 && x.next == x.Backfill {
			continue
		}
		decided := command.DecideMembers{
			Marketplace: r.t.marketplace, Segment: x.ID, Number: x.Number, AsOfMillis: r.asOf, Members: x.members, Backfill: x.next,
		}
		if err := s.proposeRepeatable(ctx, s.Groups.Meta(), command.AppendDecideMembers(nil, r.t.now(), &decided)); err != nil {
			return err
		}
	}
	for _, g := range s.dataGroups() {
		if len(r.marks[g]) == 0 {
			continue
		}
		x := command.ForgetMarks{Marketplace: r.t.marketplace, Marks: r.marks[g]}
		if err := s.proposeRepeatable(ctx, g, command.AppendForgetMarks(nil, r.t.now(), &x)); err != nil {
			return err
		}
	}
	return nil
}
