package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/raftstore/membership"
)

// ErrLogGap means that the log of this node begins after the end of the archive: Raft has deleted the entries between,
// because a snapshot has them.
var ErrLogGap = errors.New("the log of this node begins after the end of the archive")

// ArchiveInfo says what a segment shall have, and what only the caller of ArchiveLog knows.
type ArchiveInfo struct {
	TakenAt      time.Time // The time before the call, by the clock of the caller.
	StateVersion uint32    // Version of the state machine's format.
	// After is the last entry of each group that the archive has. A group without one begins with its oldest entry.
	After map[uint16]uint64
	// Cluster is the id of the cluster that After belongs to, as in backup.Segment. [not compared]
	Cluster string
	// Local takes the log as far as it is applied on this node. Otherwise the segment contains every command that was
	// answered before the call, which needs a leader of every group.
	Local bool
}

// ArchiveLog writes the commands that followed info.After to w, as a segment. backup.Tail reads it, and RestoreBackup
// replays it. Commands go on meanwhile; Close of the store waits for ArchiveLog.
//
// Errors are ErrForeign (the cluster is not info.Cluster), ErrLogGap, ErrClosed, ErrRestoring (a snapshot is replacing
// the state of a group), those of ReadBarrier unless info.Local, ctx.Err, and those of w. After an error the bytes
// written so far are of no use.
func (s *Store) ArchiveLog(ctx context.Context, w io.Writer, info ArchiveInfo) (a backup.Segment, err error) {
	if !s.acquire() {
		return a, ErrClosed
	}
	defer s.release()
	a = backup.Segment{
		Format: backup.Format, Cluster: s.identity.Cluster, Node: s.c.NodeID, TakenAt: info.TakenAt.UTC(), StateVersion: info.StateVersion,
	}
	if info.Cluster != "" && info.Cluster != a.Cluster {
		return a, fmt.Errorf("%w: the archive is of cluster %s, this is %s", ErrForeign, info.Cluster, a.Cluster)
	}
	var groups []backup.Entries
	for _, id := range slices.Sorted(slices.Values(s.c.Groups)) {
		g := s.groups[id]
		if !info.Local {
			if err := g.ReadBarrier(ctx); err != nil {
				return a, fmt.Errorf("group %d: %w", id, err)
			}
		}
		after, known := info.After[id]
		span, err := g.spanAfter(after, known)
		if err != nil {
			return a, fmt.Errorf("group %d: %w", id, err)
		}
		a.Groups = append(a.Groups, span)
		groups = append(groups, func(fn func(uint64, []byte) error) error { return g.entriesOf(span, fn) })
	}
	return a, backup.WriteSegment(ctx, w, a, groups)
}

// spanAfter returns the span from after, or from the oldest entry, to what this node has applied, which is committed and
// therefore never changes. A node that has applied less than the archive has gives an empty span.
func (g *Group) spanAfter(after uint64, known bool) (backup.Span, error) {
	span := backup.Span{Group: g.id, After: after, Index: after}
	snap, err := g.machine.stateSnapshot()
	if err != nil {
		return span, err
	}
	applied, _, err := snap.Applied()
	if err = errors.Join(err, snap.Close()); err != nil {
		return span, err
	}
	first, err := g.log.FirstIndex()
	if err != nil {
		return span, err
	}
	oldest := first - 1 // The entry before the oldest one.
	if first == 0 || first > applied.Index {
		oldest = applied.Index
	}
	if !known {
		span.After = oldest
	}
	if span.After < oldest {
		return span, fmt.Errorf("%w: the entries %d to %d", ErrLogGap, span.After+1, oldest)
	}
	if span.After <= applied.Index {
		span.Index, span.Digest = applied.Index, backup.HexText(applied.Digest)
	}
	return span, nil
}

// entriesOf calls fn with the entries of a span that have commands of the state machine. Other entries are Raft's, state
// checks, or records of removed nodes, none of which concerns a cluster that is restored.
func (g *Group) entriesOf(span backup.Span, fn func(index uint64, data []byte) error) error {
	for i := span.After + 1; i <= span.Index; i++ {
		var l raft.Log
		if err := g.log.GetLog(i, &l); err != nil { // Deleted since spanAfter.
			return fmt.Errorf("%w: group %d, entry %d: %w", ErrLogGap, g.id, i, err)
		}
		_, _, isRemoval, _ := membership.SplitRemoved(l.Data)
		if l.Type != raft.LogCommand || isRemoval || isCheck(&l) {
			continue
		}
		if err := fn(i, l.Data); err != nil {
			return err
		}
	}
	return nil
}
