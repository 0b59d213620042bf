// Package raftstore replicates opaque commands: it puts them into raft groups whose log, state and snapshots live in
// Pebble, applies what is committed to a state machine, and ends the process when its disk can no longer be trusted.
// DESIGN.md says what it promises and why it is built as it is.
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

	"github.com/gavel-ads/gavel/raftstore/fatal"
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

// Store is the replicated storage of one node: several raft groups over one log database, one state database and one
// peer port.
type Store struct {
	c            Config
	identity     identity
	cluster      uint64 // Of identity.
	address      transport.Address
	run          string // Of this process, unlike any other.
	twins        bool   // Twins were looked for.
	abstaining   atomic.Bool
	members      chan struct{} // Holds one when the members of a group changed.
	founding     *founding     // While this node has no cluster.
	membership   chan struct{} // BOUND: one change of members at a time. A channel: simulated time goes on while one waits.
	links        links
	life         context.Context // Ends with Close.
	die          context.CancelFunc
	background   sync.WaitGroup
	epoch        uint32
	exit         *fatal.Exit
	watchdog     *fatal.Watchdog
	lock         io.Closer
	cache        *pebble.Cache
	log          *pebblelog.DB
	state        *statedb.DB
	mux          *transport.Mux
	groups       map[uint16]*Group // Complete when serving.
	serving      atomic.Bool
	snapshotting chan struct{} // BOUND: one snapshot at a time.
	space        space
	clocks       clocks
	agreement    agreement
	reaped       int
	rebuilt      int

	mu      sync.Mutex
	closed  bool
	readers sync.WaitGroup
}

// Open is OpenContext without an end to waiting for peers.
func Open(c Config) (*Store, error) { return OpenContext(context.Background(), c) }

// OpenContext opens the directory, checks it, and starts every group. It refuses a directory that lost something it had
// acknowledged (ErrDamaged) or belongs to somebody else (ErrForeign). Groups are ready a little later; see WaitReady and
// WaitLeader. An empty directory with Config.Seeds waits until ctx ends for nodes to found a cluster with, or to join.
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

// newStore returns a store that has not touched its directory; Close must follow.
func newStore(c Config) (*Store, error) {
	c = c.withDefaults()
	c.FS = orderedFS{c.FS}
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Store{
		c: c, groups: map[uint16]*Group{}, snapshotting: make(chan struct{}, 1), membership: make(chan struct{}, 1), run: randomHex(), members: make(chan struct{}, 1),
	}
	s.space.store, s.clocks.store = s, s
	s.agreement.init(s)
	s.exit = fatal.NewExit(c.Logger, c.Exit)
	s.watchdog = fatal.NewWatchdog(s.exit, c.CallLimit)
	s.life, s.die = context.WithCancel(context.Background())
	s.links.store, s.links.byAddr, s.links.dialing = s, map[string]*link{}, map[string]chan struct{}{}
	s.cache = pebble.NewCache(c.CacheBytes)
	return s, nil
}

// Group returns a group of Config.Groups, or nil.
func (s *Store) Group(id uint16) *Group { return s.groups[id] }

// Epoch counts the starts of this node. It is durable and never repeats, so (node, epoch, counter) is unique.
func (s *Store) Epoch() uint32 { return s.epoch }

// enter admits a reader unless the store is closed; leave must follow.
func (s *Store) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.readers.Add(1)
	}
	return !s.closed
}

func (s *Store) leave() { s.readers.Done() }

// closePatience is how long the hand-over of leaderships and raft, for what it has, may take when the store closes.
const closePatience = 2 * time.Second

// hangUp ends all calls to peers, and those of peers. A leader that cannot commit, and whose followers still answer heartbeats, as when
// their disks are full, would wait for ever; without heartbeats its lease ends, and it answers everybody. A follower would read a snapshot
// to its end, however slowly it comes; its leader sends it again.
func (s *Store) hangUp() {
	for _, g := range s.groups {
		g.safe.HangUp()
	}
	if s.mux != nil {
		_ = s.mux.HangUp() // The listener closes once, and nothing depends on how.
	}
}

// Close finishes what raft has, flushes the state and closes everything. Nothing is lost; the next start replays little.
// It waits for the callers of Read and Backup; whoever calls them ends them before.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.readers.Wait()
	hangUp := time.AfterFunc(closePatience, s.hangUp)
	defer hangUp.Stop()
	if s.serving.Load() && !s.exit.Over() {
		patience, cancel := context.WithTimeout(context.Background(), closePatience)
		s.abstain(patience)
		cancel()
	}
	s.die()
	s.background.Wait()

	if s.state != nil {
		s.space.measure() // Where there is no room nothing may be flushed.
	}
	var errs []error
	s.links.close()
	for _, id := range s.c.Groups {
		if g := s.groups[id]; g != nil {
			errs = append(errs, g.close(), g.machine.batch.Close())
		}
	}
	if s.mux != nil {
		if err := s.mux.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	switch {
	case s.state == nil:
	case s.space.full.Load(), s.space.room(s.state.MemoryBytes()) != nil:
		errs = append(errs, s.state.CloseUnflushed())
	default:
		errs = append(errs, s.state.Close())
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
