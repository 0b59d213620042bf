package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/raftstore/statedb"
)

// BackupInfo is what only the caller of Backup knows.
type BackupInfo struct {
	TakenAt      time.Time // When the backup was made, by the clock of the caller.
	StateVersion uint32    // Version of the state machine's format.
	// Local takes the state as it is on this node. Otherwise the backup contains every command that was answered before
	// the call, which needs a leader of every group.
	Local bool
}

// Backup writes the state of all groups to w, each group as it was at one moment during the call, while commands go on.
// backup.Verify checks the stream, and RestoreBackup makes a cluster of it. Close of the store waits for Backup.
//
// Errors are ErrClosed, ErrRestoring (a snapshot is replacing the state of a group), those of ReadBarrier unless
// info.Local, ctx.Err, and those of w. After an error the bytes written so far are of no use.
func (s *Store) Backup(ctx context.Context, w io.Writer, info BackupInfo) (m backup.Manifest, err error) {
	if !s.acquire() {
		return m, ErrClosed
	}
	defer s.release()
	m = backup.Manifest{
		Format: backup.Format, Cluster: s.identity.Cluster, Node: s.c.NodeID, Epoch: s.epoch, TakenAt: info.TakenAt.UTC(), StateVersion: info.StateVersion,
	}
	var snaps []*statedb.Snapshot
	var states []backup.State
	defer func() {
		for _, snap := range snaps {
			err = errors.Join(err, snap.Close())
		}
	}()
	for _, id := range slices.Sorted(slices.Values(s.c.Groups)) {
		g := s.groups[id]
		if !info.Local {
			if err := g.ReadBarrier(ctx); err != nil {
				return m, fmt.Errorf("group %d: %w", id, err)
			}
		}
		snap, err := g.machine.stateSnapshot()
		if err != nil {
			return m, fmt.Errorf("group %d: %w", id, err)
		}
		snaps, states = append(snaps, snap), append(states, snap)
		a, _, err := snap.Applied()
		if err != nil {
			return m, err
		}
		m.Groups = append(m.Groups, backup.Group{Group: id, Index: a.Index, Term: a.Term, Digest: backup.HexText(a.Digest)})
	}
	return m, backup.Write(ctx, w, m, s.cluster, states)
}
