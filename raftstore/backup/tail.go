package backup

import (
	"errors"
	"fmt"
	"io"

	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// ErrGap means that entries are missing between a backup and a segment, or between two segments.
var ErrGap = errors.New("entries are missing in the archive of the log")

// ErrOther means that a segment is not of the cluster, or not of the groups, that the backup has.
var ErrOther = errors.New("the segment is of another cluster than the backup")

// Tail follows the log behind a backup through segments, up to the end of the last one or to a command at which a group
// is cut. It is not safe for concurrent use.
//
// INVARIANT: what it passes on of a group is a prefix, without a gap, of the commands that the group applied after the
// backup, each of them once, however segments overlap.
type Tail struct {
	cluster string
	keep    func(group uint16, cmd []byte) bool
	read    map[uint16]uint64 // The last entry that is in the backup or was read, of each group.
	cut     map[uint16]bool
}

// NewTail returns the tail behind a backup. keep reports whether a command is still part of the state that is wanted:
// the first one of a group for which it returns false ends the group.
func NewTail(m Manifest, keep func(group uint16, cmd []byte) bool) *Tail {
	t := &Tail{cluster: m.Cluster, keep: keep, read: map[uint16]uint64{}, cut: map[uint16]bool{}}
	for _, g := range m.Groups {
		t.read[g.Group] = g.Index
	}
	return t
}

// Cut reports whether every group has been cut, so that no further segment is needed.
func (t *Tail) Cut() bool { return len(t.cut) == len(t.read) }

// Read reads a segment to its end. It calls apply with each entry that follows, without the commands that are cut, and end
// for each group of which everything up to the end of the segment was passed on. OWNERSHIP: apply keeps nothing of entry.
//
// It returns ErrOther or ErrGap for a segment that does not follow, ErrBad for a damaged one, or the error of r, apply or
// end. REQUIRES: after an error the caller drops what apply did, because the checksum stands at the end.
func (t *Tail) Read(r io.Reader, apply func(group uint16, entry []byte) error, end func(Span) error) (Segment, error) {
	b, s, err := openSegment(r)
	if err != nil {
		return s, err
	}
	if err := t.follows(s); err != nil {
		return s, err
	}
	for _, span := range s.Groups {
		err := b.entries(span, func(index uint64, data []byte) error { return t.entry(span.Group, index, data, apply) })
		if err != nil {
			return s, err
		}
		if t.read[span.Group] > span.Index { // Another segment ends later, and was read before.
			continue
		}
		t.read[span.Group] = span.Index
		if t.cut[span.Group] {
			continue
		}
		if err := end(span); err != nil {
			return s, err
		}
	}
	return s, b.End()
}

// VerifySegment reads a segment to its end and checks every checksum, without what comes before it. It returns ErrBad, or
// the error of r.
func VerifySegment(r io.Reader) (Segment, error) {
	b, s, err := openSegment(r)
	if err != nil {
		return s, err
	}
	for _, span := range s.Groups {
		err := b.entries(span, func(index uint64, data []byte) error {
			if _, err := proposal.SplitEntry(nil, data); err != nil {
				return fmt.Errorf("%w: group %d: entry %d: %w", ErrBad, span.Group, index, err)
			}
			return nil
		})
		if err != nil {
			return s, err
		}
	}
	return s, b.End()
}

// follows checks that a segment has the groups of the backup, and that no group has a gap before it.
func (t *Tail) follows(s Segment) error {
	if s.Cluster != t.cluster {
		return fmt.Errorf("%w: %s instead of %s", ErrOther, s.Cluster, t.cluster)
	}
	seen := map[uint16]bool{}
	for _, span := range s.Groups {
		read, known := t.read[span.Group]
		if !known || seen[span.Group] {
			return fmt.Errorf("%w: it has group %d", ErrOther, span.Group)
		}
		seen[span.Group] = true
		if span.After > read {
			return fmt.Errorf("%w: group %d: the entries %d to %d", ErrGap, span.Group, read+1, span.After)
		}
	}
	if len(seen) != len(t.read) {
		return fmt.Errorf("%w: it has %d groups instead of %d", ErrOther, len(seen), len(t.read))
	}
	return nil
}

// entry passes on what follows of an entry.
func (t *Tail) entry(group uint16, index uint64, data []byte, apply func(group uint16, entry []byte) error) error {
	if index <= t.read[group] || t.cut[group] {
		return nil
	}
	cmds, err := proposal.SplitEntry(nil, data)
	if err != nil {
		return fmt.Errorf("%w: group %d: entry %d: %w", ErrBad, group, index, err)
	}
	for i, cmd := range cmds {
		if !t.keep(group, cmd) {
			t.cut[group] = true
			if i == 0 {
				return nil
			}
			return apply(group, proposal.JoinEntry(cmds[:i]))
		}
	}
	return apply(group, data)
}
