package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

const (
	group    = 1
	newLevel = command.LevelNewest
	oldLevel = command.LevelCampaignRules - 1
)

// mixedCluster is a cluster whose nodes run binaries of different versions. The old binary is this one, restricted to
// an older feature level: it fails the test when it receives a newer command.
type mixedCluster struct {
	*testing.T
	c     *raftstoretest.Cluster
	nodes map[int]*member
}

type member struct {
	knows   command.Level
	cluster *cluster.Cluster
	log     buffer
	refused error
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// binary is the state machine of a version.
type binary struct {
	raftstore.StateMachine
	f     *mixedCluster
	knows command.Level
}

// tooNew is the error of an older binary that loads a newer state.
type tooNew struct{ error }

func (tooNew) NewerState() bool { return true }

func (b *binary) Load(r raftstore.Reader) error {
	if (shard.Queries{R: r}).FeatureLevel() > b.knows {
		return tooNew{errors.New("this version does not support the feature level")}
	}
	return b.StateMachine.Load(r)
}

func (b *binary) Apply(batch raftstore.Batch, cmd []byte) []byte {
	needs, _ := command.Needs(cmd)
	if c, err := command.Open(cmd); err == nil && c.Op == command.OpSetFeature {
		s, _ := command.ReadSetFeature(&c)
		needs = max(needs, s.Level)
	}
	if needs > b.knows {
		b.f.Errorf("a command of level %d reached a node that supports %d, which would have stopped", needs, b.knows)
	}
	return b.StateMachine.Apply(batch, cmd)
}

// newMixedCluster prepares nodes with the levels that they support; the first of them, as many as founded, create the
// cluster.
func newMixedCluster(t *testing.T, founded int, knows ...command.Level) *mixedCluster {
	f := &mixedCluster{T: t, c: raftstoretest.NewCluster(t, 1, len(knows)), nodes: map[int]*member{}}
	for i, level := range knows {
		f.nodes[i] = &member{knows: level}
	}
	f.c.Failed = func(i int, err error) { f.nodes[i].refused = err }
	f.c.Configure = func(i int, c *raftstore.Config) {
		n := f.nodes[i]
		level := n.knows
		c.Machine = func(g uint16) raftstore.StateMachine {
			return &binary{shard.New(ids.Group(g), true, shardtest.NewFeed()), f, level}
		}
		c.NodeInfo = func() []byte { return []byte{byte(level)} }
		c.CheckJoin = func(state raftstore.Reader, about []byte) error {
			return cluster.CheckJoin(shard.Queries{R: state}.FeatureLevel(), "a version", command.Level(about[0]))
		}
		c.Noop = command.AppendNoop(nil, 0)
		c.Learner = i >= founded
		c.JoinSettle = time.Second
		c.Logger = slog.New(slog.NewTextHandler(&n.log, nil))
	}
	return f
}

// start starts a node with its current binary and reports whether it started.
func (f *mixedCluster) start(i, founded int) bool {
	if !f.c.Start(i, f.c.Seeds(founded)) {
		return false
	}
	store, _ := f.c.Store(i)
	topology := ids.Topology{DataGroups: 1}
	cl := cluster.New(store, cluster.Options{
		Topology: topology, Node: f.c.Nodes[i].ID, ReplicaAges: cluster.NewReplicaAges(topology, 3*time.Second, time.Now),
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Periods: func(time.Time) []command.Periods { return nil },
		Levels: cluster.Levels{
			Supported: func(ctx context.Context, node string) (command.Level, error) {
				about, err := store.NodeInfo(ctx, node)
				if err != nil || len(about) == 0 {
					return 0, err
				}
				return command.Level(about[0]), nil
			},
			Reached: func(ids.Group) (level command.Level, err error) {
				err = store.Group(group).Read(func(r raftstore.Reader) error {
					level = shard.Queries{R: r}.FeatureLevel()
					return nil
				})
				return level, err
			},
		},
	})
	cl.Start(context.Background())
	f.nodes[i].cluster = cl
	return true
}

func (f *mixedCluster) stop(i int) {
	f.nodes[i].cluster.Close()
	f.nodes[i].cluster = nil
	f.c.Stop(i)
}

// kill ends a node without a stop; writes that were not synced may be lost.
func (f *mixedCluster) kill(i int) {
	f.c.Crash(i)
	f.nodes[i].cluster.Close()
	f.nodes[i].cluster = nil
}

// startAll starts the first nodes at the same time, which creating a cluster needs.
func (f *mixedCluster) startAll(founded int) {
	var all sync.WaitGroup
	for i := range founded {
		all.Go(func() {
			if !f.start(i, founded) {
				f.Errorf("node %d does not start: %v", i, f.nodes[i].refused)
			}
		})
	}
	all.Wait()
}

func (f *mixedCluster) stopAll() {
	for i, n := range f.nodes {
		if n.cluster != nil {
			f.stop(i)
		}
	}
	f.c.Wait()
}

// level waits, and then compares the level of every running node.
func (f *mixedCluster) level(when string, want command.Level) {
	f.Helper()
	time.Sleep(20 * time.Second)
	for i, n := range f.nodes {
		if n.cluster == nil {
			continue
		}
		if got := n.cluster.Level(group); got != want {
			f.Errorf("%s: node %d has reached level %d, want %d", when, i, got, want)
		}
	}
}

// change proposes a change at a node: of the marks of vendors, which needs the new level, or of the catalog.
func (f *mixedCluster) change(i int, needsNew bool) error {
	cmd := command.AppendDeleteCatalog(nil, time.Now().UnixMilli(), &command.DeleteCatalog{Marketplace: 1})
	if needsNew {
		cmd = command.AppendMarkVendors(nil, time.Now().UnixMilli(), &command.MarkVendors{Marketplace: 1})
	}
	answer, err := f.nodes[i].cluster.Propose(f.Context(), group, cmd)
	if err == nil && command.Refusal(answer[0]) != command.Done {
		f.Errorf("node %d: refused: %s", i, command.Refusal(answer[0]))
	}
	return err
}

func (f *mixedCluster) isMember(i int) bool {
	store, _ := f.c.Store(0)
	for _, m := range store.Group(group).Members() {
		if m.ID == f.c.Nodes[i].ID {
			return true
		}
	}
	return false
}

// A cluster of two new binaries and an old one stays on the old level, also while the old node is stopped, and rises
// when the last node runs the new one: a rolling upgrade. An old binary cannot join it again, neither with its own
// directory nor with an empty one.
func TestRollingUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const founded = 3
		f := newMixedCluster(t, founded, newLevel, oldLevel, oldLevel, oldLevel)
		f.startAll(founded)
		f.level("one new binary", oldLevel)
		for upgraded := 1; upgraded < founded; upgraded++ {
			if err := f.change(0, true); !errors.Is(err, cluster.ErrUnavailable) || !strings.Contains(err.Error(), "feature level") {
				t.Errorf("a command of the new level before its time: %v", err)
			}
			for i := range founded {
				if err := f.change(i, false); err != nil {
					t.Errorf("a command of the old level at node %d: %v", i, err)
				}
			}
			f.stop(upgraded)
			f.level("a node is away", oldLevel)
			f.nodes[upgraded].knows = newLevel
			f.start(upgraded, founded)
			if upgraded < founded-1 {
				f.level("some new binaries", oldLevel)
			}
		}
		f.level("only new binaries", newLevel)
		for i := range founded {
			if err := f.change(i, true); err != nil {
				t.Errorf("a command of the new level at node %d: %v", i, err)
			}
		}

		f.stop(1)
		f.nodes[1].knows = oldLevel
		if f.start(1, founded) {
			t.Error("an old binary opens the directory of a new one")
		} else if _, is := errors.AsType[tooNew](f.nodes[1].refused); !is {
			t.Errorf("an old binary is refused with %v", f.nodes[1].refused)
		}
		f.nodes[1].knows = newLevel
		f.start(1, founded)
		f.level("back on the new binary", newLevel)

		var joined sync.WaitGroup
		joined.Go(func() { f.start(3, founded) })
		time.Sleep(30 * time.Second)
		const reason = "it runs a version, which supports feature level"
		if log := f.nodes[3].log.String(); f.isMember(3) || !strings.Contains(log, reason) {
			t.Errorf("an old binary joins: member %t, log %q", f.isMember(3), log)
		}
		f.c.Crash(3)
		joined.Wait()
		f.nodes[3].knows = newLevel
		f.start(3, founded)
		f.level("a fourth node", newLevel)
		if !f.isMember(3) {
			t.Errorf("a new binary does not join: %s", f.nodes[3].log.String())
		}
		f.stopAll()
	})
}

// While one node runs the old binary, a rollback is possible: nodes go to the new binary and back to the old one with
// their own directories, one process is killed in both directions, and every node accepts commands in between.
func TestUpgradeIsTakenBackBeforeTheLevelRises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const founded = 3
		f := newMixedCluster(t, founded, oldLevel, oldLevel, oldLevel)
		f.startAll(founded)
		accepted := func(when string) {
			t.Helper()
			f.level(when, oldLevel)
			for i := range founded {
				if err := f.change(i, false); err != nil {
					t.Errorf("%s: node %d: %v", when, i, err)
				}
			}
		}
		accepted("only old binaries")
		for _, knows := range []command.Level{newLevel, oldLevel} {
			for i := range founded - 1 {
				f.stop(i)
				f.nodes[i].knows = knows
				if !f.start(i, founded) {
					t.Fatalf("node %d does not start with a binary of level %d: %v", i, knows, f.nodes[i].refused)
				}
				if i == 0 { // Kill it with its new binary.
					f.kill(i)
					if err := f.change(founded-1, false); err != nil {
						t.Errorf("while a node is stopped: %v", err)
					}
					if !f.start(i, founded) {
						t.Fatalf("node %d does not start again with a binary of level %d: %v", i, knows, f.nodes[i].refused)
					}
				}
				accepted("during the change")
			}
		}
		f.stopAll()
	})
}

// A node that is killed during an upgrade restarts with the new binary. The level rises when it runs again and not
// before, also when the killed node led the group.
func TestKilledInTheMiddleOfAnUpgrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const founded = 3
		f := newMixedCluster(t, founded, newLevel, newLevel, oldLevel)
		f.startAll(founded)
		f.level("one old binary", oldLevel)
		for i := range founded {
			f.kill(i)
			f.level("a node was killed", oldLevel)
			if err := f.change((i+1)%founded, false); err != nil {
				t.Errorf("without node %d: %v", i, err)
			}
			f.nodes[i].knows = newLevel
			if !f.start(i, founded) {
				t.Fatalf("node %d does not start: %v", i, f.nodes[i].refused)
			}
		}
		f.level("all new", newLevel)
		for i := range founded {
			if err := f.change(i, true); err != nil {
				t.Errorf("a command of the new level at node %d: %v", i, err)
			}
		}
		f.stopAll()
	})
}

// A non-voter applies what the voters apply, so the level waits for it, too.
func TestTheLevelWaitsForLearners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const founded = 1
		f := newMixedCluster(t, founded, oldLevel, oldLevel)
		f.startAll(founded)
		f.start(1, founded)
		f.level("an old voter and an old learner", oldLevel)
		f.stop(0)
		f.nodes[0].knows = newLevel
		f.start(0, founded)
		f.level("a new voter and an old learner", oldLevel)
		f.stop(1)
		f.nodes[1].knows = newLevel
		f.start(1, founded)
		f.level("all new", newLevel)
		f.stopAll()
	})
}
