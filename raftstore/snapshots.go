package raftstore

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/fatal"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
)

// snapshots is the snapshot store of a running group, as Raft sees it: a disk that fails a snapshot ends the process,
// like one that fails the log. Raft only logs such errors and tries again for ever: a follower whose disk did not take
// a snapshot answered heartbeats, voted and never caught up (found by the simulation), and a leader that could not read
// its own snapshot kept such a follower for as long. A full disk is not a failure of the disk (see package diskspace),
// nor is a snapshot that was deleted between two looks.
//
// Streams are verified as they pass. What a leader sends must be whole before it replaces anything at its follower,
// which would not start again without a state; and a leader whose newest snapshot is corrupt exits, so that a node with
// a good one is elected.
type snapshots struct {
	*snapshot.Store
	exit           *fatal.Exit
	installIsStale func(index, term uint64) bool // Reports whether a snapshot comes from a leader, and ends with an entry that is applied.
}

// errStaleSnapshot refuses a snapshot whose last entry was applied after its call was checked. A snapshot that is sent
// twice, because the sender gave up the first call, may arrive when its follower has gone on. Raft would install it:
// the state would go back, acknowledged entries be deleted, and the next ones appended behind the gap, because Raft
// still believes in the old end of its log (hashicorp/raft#697).
var errStaleSnapshot = errors.New("the snapshot is stale: this node has applied its last entry")

var _ raft.SnapshotStore = snapshots{}

// exitOnDiskError returns an error with which the process may go on, and ends the process with any other.
func (s snapshots) exitOnDiskError(what string, err error) error {
	switch {
	case err == nil, errors.Is(err, io.EOF), vfs.IsNoSpaceError(err), errors.Is(err, os.ErrNotExist):
	default:
		s.exit.Now(what, err)
	}
	return err
}

// List returns the readable snapshots, newest first.
func (s snapshots) List() ([]*raft.SnapshotMeta, error) {
	metas, err := s.Store.List()
	return metas, s.exitOnDiskError("snapshots cannot be listed", err)
}

// Create begins a snapshot.
func (s snapshots) Create(v raft.SnapshotVersion, index, term uint64, c raft.Configuration, cIndex uint64, t raft.Transport) (raft.SnapshotSink, error) {
	if s.installIsStale(index, term) {
		return nil, errStaleSnapshot
	}
	k, err := s.Store.Create(v, index, term, c, cIndex, t)
	if s.exitOnDiskError("snapshot cannot be begun", err) != nil {
		return nil, err
	}
	return &snapshotSink{k, s, snapshot.NewVerifier()}, nil
}

// Open returns the stream of a snapshot.
func (s snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	m, r, err := s.Store.Open(id)
	if s.exitOnDiskError("snapshot cannot be opened", err) != nil {
		return nil, nil, err
	}
	return m, &snapshotSource{r, s, id, snapshot.NewVerifier()}, nil
}

// snapshotSink is a snapshot that is being written.
type snapshotSink struct {
	raft.SnapshotSink
	snapshots snapshots
	verifier  *snapshot.Verifier
}

// Write appends to the stream.
func (k *snapshotSink) Write(p []byte) (int, error) {
	if err := k.verifier.Add(p); err != nil {
		return 0, err
	}
	n, err := k.SnapshotSink.Write(p)
	if err != nil {
		k.verifier.Stop()
	}
	return n, k.snapshots.exitOnDiskError("snapshot cannot be written", err)
}

// Close makes a complete and verified stream visible and drops any other.
func (k *snapshotSink) Close() error {
	if err := k.verifier.End(); err != nil {
		return errors.Join(err, k.SnapshotSink.Cancel())
	}
	return k.snapshots.exitOnDiskError("snapshot cannot be written", k.SnapshotSink.Close())
}

// Cancel drops the snapshot.
func (k *snapshotSink) Cancel() error {
	k.verifier.Stop()
	return k.snapshots.exitOnDiskError("snapshot cannot be dropped", k.SnapshotSink.Cancel())
}

// snapshotSource is a snapshot that is being read.
type snapshotSource struct {
	io.ReadCloser
	snapshots snapshots
	id        string
	verifier  *snapshot.Verifier
}

// Read returns the next bytes of a stream that is whole so far.
func (r *snapshotSource) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	bad := r.verifier.Add(p[:n])
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && bad == nil:
		bad = r.verifier.End()
	default:
		r.verifier.Stop()
	}
	if bad != nil {
		r.snapshots.exit.Now("snapshot is corrupt, rebuild the node if it does not get another", fmt.Errorf("%s: %w", r.id, bad))
	}
	return n, r.snapshots.exitOnDiskError("snapshot cannot be read", err)
}

// Close closes the stream.
func (r *snapshotSource) Close() error {
	r.verifier.Stop()
	return r.ReadCloser.Close()
}
