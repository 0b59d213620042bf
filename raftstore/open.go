package raftstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/raftstore/durable"
	"github.com/gavel-ads/gavel/raftstore/fatal"
	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
	"github.com/gavel-ads/gavel/raftstore/statedb"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// claimDir creates the directory and locks it, so that no other process uses it.
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

// openCacheBytes bounds the block cache while the store opens, in bytes. BOUND: the blocks of indexes and filters that the scan
// of the state comes back to. Opening reads log and state once, and what it leaves in the cache nobody may ask for: it was half
// of the memory of a node that had just started.
const openCacheBytes = 32 << 20

func (s *Store) open(ctx context.Context) (err error) {
	c := &s.c
	if err := s.claimDir(); err != nil {
		return err
	}
	if err := checkDiverged(c.FS, c.Dir); err != nil {
		return err
	}
	if !c.unfinished {
		if err := backup.CheckFinished(c.FS, c.Dir); err != nil {
			return err
		}
	}
	s.space.Measure() // Before anything is written: a node that a full disk stopped needs the space of its ballast file to start.
	if err := s.openIdentity(ctx); err != nil {
		return err
	}
	defer s.cache.Reserve(int(max(0, c.CacheBytes-openCacheBytes)))()
	if err := s.openLog(); err != nil {
		return err
	}
	s.state, err = statedb.Open(statedb.Options{
		FS: c.FS, Dir: c.FS.PathJoin(c.Dir, stateDir), Cache: s.cache, Logger: fatal.NewLogger(s.exit, c.Logger, stateDir), Exit: s.exit,
		CallLimit: c.CallLimit, OpenFiles: c.OpenFiles,
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
	s.beginMembership()
	s.serving.Store(true)
	s.mux.CheckConnectionsMax()
	s.mux.Start()
	s.background.Go(s.members.Keep)
	s.background.Go(s.spreadLeaders)
	s.background.Go(s.disconnectFormerMembers)
	s.background.Go(s.watchSpace)
	if c.Now != nil && c.PeerListen != "" {
		s.background.Go(s.clocks.watch)
	}
	s.background.Go(s.stateChecks.run)
	return nil
}

// openIdentity opens the peer port and determines which cluster and incarnation the directory belongs to; it asks peers
// when the directory is empty or its founding is not confirmed.
func (s *Store) openIdentity(ctx context.Context) (err error) {
	if err := s.openPort(); err != nil {
		return err
	}
	s.identity, err = membership.LoadIdentity(s.membershipConfig())
	if errors.Is(err, ErrNoCluster) && len(s.c.Seeds) > 0 || err == nil && s.identity.Pending {
		s.identity, err = s.founding.Discover(ctx, s.identity)
	}
	if err != nil {
		return err
	}
	if s.c.AnyGroups {
		s.c.Groups = s.identity.Groups
		if s.c.GroupsChosen != nil {
			s.c.GroupsChosen(s.c.Groups)
		}
	}
	s.cluster, err = s.identity.ClusterID()
	s.mux.SetCluster(s.cluster, s.identity.Server)
	s.members.SetIdentity(s.identity)
	return err
}

func (s *Store) openLog() (err error) {
	c := &s.c
	s.log, err = pebblelog.Open(pebblelog.Options{
		FS: c.FS, Dir: c.FS.PathJoin(c.Dir, logDir), WALDir: c.WALDir, GuardPath: c.FS.PathJoin(c.Dir, guardName), ClusterID: s.cluster,
		Groups: c.Groups, Cache: s.cache, TailBytes: c.TailBytes, Logger: fatal.NewLogger(s.exit, c.Logger, logDir), Exit: s.exit,
		Watchdog: s.watchdog, CallLimit: c.CallLimit, OpenFiles: c.OpenFiles, AcceptLoss: c.AcceptLoss, Former: s.identity.FormerIDs(),
	})
	return err
}

// makeDirs creates the directories durably: a file that is synced inside a directory is lost when the directory itself
// is.
func makeDirs(c *Config) error {
	paths := []string{}
	for _, name := range []string{logDir, stateDir, snapshotsDir} {
		paths = append(paths, c.FS.PathJoin(c.Dir, name))
	}
	if c.WALDir != "" {
		paths = append(paths, c.WALDir)
	}
	for _, path := range paths {
		if err := c.FS.MkdirAll(path, 0o700); err != nil {
			return err
		}
		if err := durable.SyncDir(c.FS, c.FS.PathDir(path)); err != nil {
			return err
		}
	}
	return durable.SyncDir(c.FS, c.FS.PathDir(c.Dir))
}

// openPort opens the peer port, if the configuration names one, and sets this node's address. Nothing is accepted yet.
func (s *Store) openPort() error {
	c := transport.Config{
		Logger:         s.c.Logger,
		Member:         func(node string) bool { return s.members.Accepts(node) },
		Name:           func(address string) string { return s.members.NameOf(address) },
		ConnectionsMax: s.c.PeerConnectionsMax,
	}
	if s.c.TLS != nil && s.c.PeerListen != "" {
		var err error
		if c.Credentials, err = transport.NewCredentials(*s.c.TLS, s.c.Logger); err != nil {
			return err
		}
		s.credentials = c.Credentials
	}
	s.address = transport.Address(noAddress + s.c.NodeID)
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
	s.mux = transport.NewMux(c)
	s.openMembership(s.mux.Start)
	s.mux.Handle(transport.Control, s.control.Serve)
	s.mux.Handle(transport.Forward, s.serveForward)
	if s.c.Stream != nil {
		s.mux.Handle(transport.Stream, s.c.Stream)
	}
	return nil
}
