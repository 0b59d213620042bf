// Package raftstore replicates opaque commands: it appends them to Raft groups whose log, state and snapshots live in
// Pebble, applies what is committed to a state machine, and ends the process when its disk can no longer be trusted.
// The caller opens a Store, proposes bytes to its groups and reads their state. DESIGN.md says what it promises and why
// it is built as it is.
package raftstore

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/gavel-ads/gavel/raftstore/control"
	"github.com/gavel-ads/gavel/raftstore/diskspace"
	"github.com/gavel-ads/gavel/raftstore/durable"
	"github.com/gavel-ads/gavel/raftstore/fatal"
	"github.com/gavel-ads/gavel/raftstore/forward"
	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/statedb"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// Names inside Config.Dir.
const (
	lockName     = "LOCK"
	logDir       = "raftlog"
	guardName    = "guard"
	stateDir     = "state"
	snapshotsDir = "snapshots"
)

// Store is the replicated storage of one node: several Raft groups over one log database, one state database and one
// peer port. Its methods are safe for concurrent use.
type Store struct {
	c             Config
	identity      membership.Identity
	cluster       uint64            // The cluster id of identity.
	address       transport.Address // Where peers dial this node.
	draining      atomic.Bool       // The node transfers its leaderships and does not campaign; see startDraining.
	memberChanges chan struct{}     // Holds one element when the members of a group changed.
	control       *control.Port
	founding      *membership.Founding // Used while this node has no cluster.
	members       *membership.Members
	forward       *forward.Client
	ctx           context.Context // Ends with Close.
	cancel        context.CancelFunc
	background    sync.WaitGroup
	epoch         uint32
	exit          *fatal.Exit
	watchdog      *fatal.Watchdog
	lock          io.Closer
	cache         *pebble.Cache
	log           *pebblelog.DB
	state         *statedb.DB
	mux           *transport.Mux
	credentials   *transport.Credentials // Nil without TLS between peers.
	groups        map[uint16]*Group      // Complete once serving is true.
	serving       atomic.Bool
	snapshotting  chan struct{} // BOUND: one snapshot at a time.
	space         *diskspace.Watch
	clocks        clocks
	stateChecks   stateChecks
	tmpDeleted    int
	rebuilt       int

	mu      sync.Mutex
	closed  bool
	readers sync.WaitGroup
}

// Open is OpenContext with a context that never ends: it may wait for peers without a bound.
func Open(c Config) (*Store, error) { return OpenContext(context.Background(), c) }

// OpenContext opens the directory, checks it, and starts every group. On success the groups become ready a little
// later; see Group.WaitReady and Group.WaitLeader. The caller must Close the store.
//
// An empty directory with Config.Seeds needs other nodes: OpenContext then founds a cluster with them or joins one, and
// waits for that until ctx ends. ctx bounds the waits for other nodes and nothing else.
//
// It returns all faults of Config at once, or one of these errors, wrapped with the details: ErrDamaged (the directory
// lost something it had acknowledged), ErrForeign (it belongs to another cluster, node or set of groups), ErrDiverged
// (its state once differed from the majority's), ErrUnfinished (a restore or recovery in it did not end), ErrNodeInUse
// (another process runs with the node's id), ErrNoCluster (it is empty, there are no seeds, and Config.Expect is not
// 1), ctx.Err, or the error of a state machine that cannot load a newer state. Errors of the disk and of the peer port
// are returned as they are. After an error the directory is closed again.
func OpenContext(ctx context.Context, c Config) (*Store, error) {
	s, err := newStore(c)
	if err != nil {
		return nil, err
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// newStore returns a store that has not touched its directory. Close must follow.
func newStore(c Config) (*Store, error) {
	c = c.withDefaults()
	c.FS = durable.OrderedFS{FS: c.FS}
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Store{
		c: c, groups: map[uint16]*Group{}, snapshotting: make(chan struct{}, 1), memberChanges: make(chan struct{}, 1),
	}
	s.clocks.store = s
	s.space = diskspace.New(diskspace.Config{
		FS: c.FS, Dir: c.Dir, WALDir: c.WALDir, Reserve: c.Reserve, Ballast: c.Ballast, NewestSnapshot: s.newestSnapshotBytes, Logger: c.Logger,
	})
	s.stateChecks.init(s)
	s.exit = fatal.NewExit(c.Logger, c.Exit)
	s.watchdog = fatal.NewWatchdog(s.exit, c.CallLimit)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.forward = forward.NewClient(func(ctx context.Context, address string) (net.Conn, error) {
		return s.mux.Dial(ctx, transport.Forward, address)
	})
	s.cache = pebble.NewCache(c.CacheBytes)
	return s, nil
}

// Group returns a group of Config.Groups, or nil when there is none with this id.
func (s *Store) Group(id uint16) *Group { return s.groups[id] }

// Epoch is the number of times this node was started. It is durable and never repeats, so (node, epoch, counter) is
// unique.
func (s *Store) Epoch() uint32 { return s.epoch }

// acquire registers a reader and returns true, or returns false when the store is closed. release must follow a true.
func (s *Store) acquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.readers.Add(1)
	}
	return !s.closed
}

func (s *Store) release() { s.readers.Done() }

// closeWaitMax bounds two waits of Close: for the transfer of leaderships, and for Raft to finish what it has.
const closeWaitMax = 2 * time.Second

// disconnectPeers ends all calls to peers and of peers, so that Close ends. A leader that cannot commit although its
// followers answer heartbeats, for example because their disks are full, would otherwise wait for ever: without
// heartbeats its lease ends, and it answers every caller. A follower would otherwise read a snapshot to its end,
// however slowly it arrives; its leader sends it again.
func (s *Store) disconnectPeers() {
	for _, g := range s.groups {
		g.safe.Disconnect()
	}
	if s.mux != nil {
		_ = s.mux.Disconnect() // The listener closes once, and nothing depends on its error.
	}
}

// Close transfers leaderships, finishes the commands that Raft has, flushes the state and closes everything. Nothing
// acknowledged is lost, and the next start replays little. Each of these waits is bounded by closeWaitMax, but Close
// also waits for callers of Read and Backup, which the caller must end before. It returns the joined errors of closing;
// a second call returns nil.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.readers.Wait()
	hangUp := time.AfterFunc(closeWaitMax, s.disconnectPeers)
	defer hangUp.Stop()
	if s.serving.Load() && !s.exit.Ended() {
		patience, cancel := context.WithTimeout(context.Background(), closeWaitMax)
		s.startDraining(patience)
		cancel()
	}
	s.cancel()
	s.background.Wait()

	if s.state != nil {
		s.space.Measure() // Nothing may be flushed to a disk without space.
	}
	var errs []error
	s.forward.Close()
	for _, id := range s.c.Groups {
		if g := s.groups[id]; g != nil {
			errs = append(errs, g.close())
		}
	}
	if s.mux != nil {
		if err := s.mux.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.state != nil {
		errs = append(errs, s.closeState())
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.cache != nil {
		s.cache.Unref()
	}
	s.watchdog.Close()
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// closeState writes and flushes what the groups have applied, if the disk has space for it, and closes the state
// database. REQUIRES: the groups are closed.
func (s *Store) closeState() error {
	flush := !s.space.Full() && s.space.CheckFree(s.state.MemoryBytes()) == nil
	var errs []error
	for _, id := range s.c.Groups {
		if g := s.groups[id]; g != nil {
			errs = append(errs, g.machine.close(flush))
		}
	}
	if flush {
		return errors.Join(append(errs, s.state.Close())...)
	}
	return errors.Join(append(errs, s.state.CloseUnflushed())...)
}

// pause waits for d, or until the store closes.
func (s *Store) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}
