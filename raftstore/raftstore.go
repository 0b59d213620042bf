// Package raftstore replicates opaque commands: it puts them into raft groups whose log, state and snapshots live in
// Pebble, applies what is committed to a state machine, and ends the process when its disk can no longer be trusted.
// DESIGN.md says what it promises and why it is built as it is.
package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/fatal"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/snapshot"
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

// claimDir makes sure that nobody else uses the directory.
func (s *Store) claimDir() (err error) {
	c := &s.c
	if err := makeDirs(c); err != nil {
		return err
	}
	if s.lock, err = c.FS.Lock(c.FS.PathJoin(c.Dir, lockName)); err != nil {
		return fmt.Errorf("the directory %s is in use: %w", c.Dir, err)
	}
	return nil
}

func (s *Store) open(ctx context.Context) (err error) {
	c := &s.c
	if err := s.claimDir(); err != nil {
		return err
	}
	if err := checkDiverged(c.FS, c.Dir); err != nil {
		return err
	}
	if !c.unfinished {
		if err := checkFinished(c.FS, c.Dir); err != nil {
			return err
		}
	}
	s.space.measure() // Before anything is written: a node that a full disk stopped needs its ballast to start.
	if err := s.openIdentity(ctx); err != nil {
		return err
	}
	if err := s.openLog(); err != nil {
		return err
	}
	s.state, err = statedb.Open(statedb.Options{
		FS: c.FS, Dir: c.FS.PathJoin(c.Dir, stateDir), Cache: s.cache, Logger: fatal.NewLogger(s.exit, c.Logger, stateDir), Exit: s.exit,
		CallLimit: c.CallLimit,
	})
	if err != nil {
		return err
	}
	if s.epoch, err = s.log.NextEpoch(); err != nil {
		return err
	}
	for _, id := range c.Groups {
		if err := s.openGroup(ctx, id, s.address); err != nil {
			return fmt.Errorf("group %d: %w", id, err)
		}
	}
	s.serving.Store(true)
	s.mux.Start()
	s.background.Go(s.stayMember)
	s.background.Go(s.balance)
	s.background.Go(s.cutStrangers)
	s.background.Go(s.space.watch)
	if c.Now != nil && c.PeerListen != "" {
		s.background.Go(s.clocks.watch)
	}
	s.background.Go(s.agreement.run)
	return nil
}

// openIdentity opens the peer port and finds out whose directory this is, with the help of peers if need be.
func (s *Store) openIdentity(ctx context.Context) (err error) {
	if err := s.openPort(); err != nil {
		return err
	}
	s.identity, err = loadIdentity(&s.c)
	if errors.Is(err, ErrNoCluster) && len(s.c.Seeds) > 0 || err == nil && s.identity.Pending {
		s.identity, err = s.founding.meet(ctx, s.identity)
	}
	if err != nil {
		return err
	}
	if s.c.AnyGroups {
		s.c.Groups = s.identity.Groups
		if s.c.Grouped != nil {
			s.c.Grouped(s.c.Groups)
		}
	}
	s.cluster, err = s.identity.clusterID()
	s.mux.SetCluster(s.cluster, s.identity.Server)
	return err
}

func (s *Store) openLog() (err error) {
	c := &s.c
	s.log, err = pebblelog.Open(pebblelog.Options{
		FS: c.FS, Dir: c.FS.PathJoin(c.Dir, logDir), WALDir: c.WALDir, GuardPath: c.FS.PathJoin(c.Dir, guardName), ClusterID: s.cluster,
		Groups: c.Groups, Cache: s.cache, TailBytes: c.TailBytes, Logger: fatal.NewLogger(s.exit, c.Logger, logDir), Exit: s.exit,
		Watchdog: s.watchdog, CallLimit: c.CallLimit, AcceptLoss: c.AcceptLoss, Former: s.identity.formerIDs(),
	})
	return err
}

// makeDirs creates the directories durably: what is synced inside one is lost when the directory itself is.
func makeDirs(c *Config) error {
	paths := []string{}
	for _, name := range []string{logDir, stateDir, snapshotsDir} {
		paths = append(paths, c.FS.PathJoin(c.Dir, name))
	}
	if c.WALDir != "" {
		paths = append(paths, c.WALDir)
	}
	for _, path := range paths {
		if err := c.FS.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := syncDir(c.FS, c.FS.PathDir(path)); err != nil {
			return err
		}
	}
	return syncDir(c.FS, c.FS.PathDir(c.Dir))
}

// openPort opens the peer port, if there is one, and sets this node's address. Nothing is accepted yet.
func (s *Store) openPort() error {
	c := transport.Config{Logger: s.c.Logger, Member: s.trusts, Name: s.nameOf, Node: nodeOfText}
	if s.c.TLS != nil && s.c.PeerListen != "" {
		var err error
		if c.Credentials, err = transport.NewCredentials(*s.c.TLS, s.c.Logger); err != nil {
			return err
		}
	}
	s.address = transport.Address("unreachable:" + s.c.NodeID)
	if s.c.PeerListen != "" {
		var err error
		if c.Listener, err = s.c.Listen(s.c.PeerListen); err != nil {
			return fmt.Errorf("the peer port cannot be opened: %w", err)
		}
		c.Dial, s.address = s.c.Dial, transport.Address(c.Listener.Addr().String())
	}
	if s.c.Advertise != "" {
		s.address = transport.Address(s.c.Advertise)
	}
	s.founding = newFounding(s)
	s.mux = transport.NewMux(c)
	s.mux.Handle(transport.Control, s.serveControl)
	s.mux.Handle(transport.Forward, s.serveForward)
	if s.c.Stream != nil {
		s.mux.Handle(transport.Stream, s.c.Stream)
	}
	return nil
}

func (s *Store) openGroup(ctx context.Context, id uint16, address transport.Address) error {
	dir := s.c.FS.PathJoin(s.c.Dir, snapshotsDir, strconv.FormatUint(uint64(id), 10))
	snaps, err := snapshot.Open(s.c.FS, dir, s.c.Logger)
	if err != nil {
		return err
	}
	snaps.Rename(s.cluster, s.identity.formerIDs())
	s.reaped += snaps.Reaped()
	g := &Group{
		id: id, store: s, log: s.log.Group(id), snaps: snaps, leads: make(chan bool, 8), change: make(chan struct{}),
		streams: s.mux.Streams(id, address), leaders: make(chan raft.Observation, 8), opened: time.Now(),
	}
	state := s.state.Group(id)
	g.machine = &machine{store: s, id: id, user: s.c.Machine(id), state: state, batch: state.NewBatch(), onApply: g.log.SetCommit}
	found, err := g.check()
	if err != nil {
		return err
	}
	if err := s.lookForTwin(ctx, found.servers); err != nil {
		return err
	}
	servers := found.servers
	if len(servers.Servers) == 0 && !s.identity.Joined {
		servers, err = g.bootstrap(address)
		if err != nil {
			return err
		}
	}
	g.safe = transport.New(g.streams, newHCLog(s.c.Logger.With(slog.Int("group", int(id)))).Named("net"))
	g.safe.SetBrakes(s.space.brakes(g))
	g.heartbeat = clusterTimeout + time.Duration(rank(servers, id, s.identity.Server))*clusterStagger
	config := s.raftConfig(id, g.heartbeat, found.keepState, g.leads)
	g.raft, err = raft.NewRaft(config, g.machine, g.log, g.log, snapshots{snaps, s.exit}, g.safe)
	if err != nil {
		return errors.Join(err, g.safe.Close())
	}
	g.safe.WhileWanted(g.replicates)
	g.machine.running.Store(true)
	g.batcher = newBatcher(g.raft, g.answered)
	g.observer = raft.NewObserver(g.leaders, false, func(o *raft.Observation) bool { _, is := o.Data.(raft.LeaderObservation); return is })
	g.raft.RegisterObserver(g.observer)
	g.done.Go(g.follow)
	g.done.Go(g.watchLeaders)
	g.done.Go(g.noticeSilence)
	s.groups[id] = g
	if alone(servers, s.identity.Server) {
		g.safe.Campaign()
	}
	return nil
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

// Close finishes what raft has, flushes the state and closes everything. Nothing is lost; the next start replays little.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.readers.Wait()
	if s.serving.Load() && !s.exit.Over() {
		s.abstain(context.Background())
	}
	s.die()
	s.background.Wait()

	if s.state != nil {
		s.space.measure() // On a full disk nothing may be flushed.
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
	case s.space.full.Load():
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
