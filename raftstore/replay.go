package raftstore

import (
	"fmt"
	"io"
	"iter"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/backup"
)

// History is what follows a backup.
type History struct {
	// Segments are the archived segments of the log, in the order of their times. It is ranged over once, until Keep has
	// cut every group. Nil: there are none.
	Segments iter.Seq2[io.Reader, error]
	// Keep reports whether a command belongs to the state that is wanted. The first one of a group for which it returns
	// false ends the group.
	Keep func(group uint16, cmd []byte) bool
	// Change makes a last change of the restored state, through the log. Every group is ready. Nil: there is none.
	Change func(*Store) error
}

// replayWindow is how many entries are given to Raft before the first is waited for. BOUND: 8 MiB, as packed entries have at
// most proposal.EntryBytesMax; larger ones have a single large command and are few.
const replayWindow = 128

// replay applies the history to a store that has the state of a backup. Entries go through Raft like any command, so that
// log and state agree, and the digest is compared wherever a segment has one.
func (s *Store) replay(m backup.Manifest, h History) error {
	if h.Segments == nil {
		return nil
	}
	r := replayer{store: s}
	tail := backup.NewTail(m, h.Keep)
	for segment, err := range h.Segments {
		if err != nil {
			return err
		}
		if _, err := tail.Read(segment, r.apply, r.compare); err != nil {
			return err
		}
		if tail.Cut() {
			break
		}
	}
	return r.wait(0)
}

// replayer gives entries to Raft.
type replayer struct {
	store   *Store
	waiting []raft.ApplyFuture
}

// apply gives an entry to a group's log.
func (r *replayer) apply(group uint16, entry []byte) error {
	owned := append([]byte(nil), entry...) // Raft keeps it.
	r.waiting = append(r.waiting, r.store.groups[group].raft.Apply(owned, 0))
	return r.wait(replayWindow)
}

// wait waits until at most so many entries are not applied yet.
func (r *replayer) wait(most int) error {
	for len(r.waiting) > most {
		if err := r.waiting[0].Error(); err != nil {
			return fmt.Errorf("an archived entry was not applied: %w", err)
		}
		r.waiting = r.waiting[1:]
	}
	return nil
}

// compare checks that a group has the state that it had at the end of a span.
func (r *replayer) compare(span backup.Span) error {
	if err := r.wait(0); err != nil || span.Digest == "" {
		return err
	}
	return r.store.groups[span.Group].checkDigest(span.Digest, fmt.Sprintf("the segment up to entry %d", span.Index))
}

// checkDigest compares the digest of everything applied with that of a file. It returns backup.ErrBad when they differ.
func (g *Group) checkDigest(want, where string) error {
	snap, err := g.machine.stateSnapshot()
	if err != nil {
		return err
	}
	defer func() { _ = snap.Close() }() // It was only read.
	applied, _, err := snap.Applied()
	if err != nil {
		return err
	}
	if got := backup.HexText(applied.Digest); got != want {
		return fmt.Errorf("%w: the restored state of group %d has digest %s, %s says %s; is this another version of the program?",
			backup.ErrBad, g.id, got, where, want)
	}
	return nil
}
