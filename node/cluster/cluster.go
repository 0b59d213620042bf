// Package cluster runs the raft groups of this node for the packages above it: it finds the group of a shard, proposes
// commands within a deadline, commits the time of every group that this node leads, and measures the age of this node's
// replicas. It carries encoded commands and does not interpret the state. DESIGN.md has the reasons.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/moment"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// ProposeTimeout bounds how long a caller waits for a commit. Afterwards the outcome is unknown and the caller gets
// ErrUnavailable; repeating the command with the same ids is safe.
const ProposeTimeout = 5 * time.Second

// leaderlessMax is how long a group may be without a leader before the node says that it is not ready. A failover takes
// less: if readiness changed with each failover, a load balancer would remove all nodes at once.
const leaderlessMax = 10 * time.Second

// ErrUnavailable is returned when a command was not applied, or may not have been: because of a missing leader,
// overload, shutdown or an unknown outcome. The same command may be proposed again.
var ErrUnavailable = errors.New("the group cannot commit the command now")

// Cluster is this node's set of raft groups. It is safe for concurrent use.
type Cluster struct {
	ids.Topology
	store        *raftstore.Store
	node         string
	ages         *ReplicaAges
	now          func() time.Time
	periods      func(time.Time) []command.Periods
	onLead       func(context.Context, ids.Group)
	log          *slog.Logger
	levels       levels
	confirmation confirmation
	inOrder      map[ids.Group]*moment.Last // When the group was last in order; see updateInOrder. New fills the map.
	stop         context.CancelFunc
	tickers      sync.WaitGroup
}

// Options are what a Cluster needs besides its store.
type Options struct {
	Topology    ids.Topology
	Node        string // Id of this node, as raft has it.
	ReplicaAges *ReplicaAges
	Now         func() time.Time
	// Periods returns the budget periods of every marketplace at a time.
	Periods func(time.Time) []command.Periods
	// OnLead is called in its own goroutine when this node becomes the leader of a group; it may be nil.
	OnLead func(context.Context, ids.Group)
	Log    *slog.Logger
	Levels Levels // With the zero value levels never change and are not checked.
}

// New returns a Cluster on an open store. The Cluster must be closed before the store.
func New(store *raftstore.Store, o Options) *Cluster {
	c := &Cluster{
		Topology: o.Topology, store: store, node: o.Node, ages: o.ReplicaAges, now: o.Now, periods: o.Periods,
		onLead: o.OnLead, log: o.Log, inOrder: map[ids.Group]*moment.Last{}, stop: func() {},
	}
	for _, g := range c.Groups() {
		c.inOrder[g] = new(moment.Last)
	}
	c.levels = newLevels(o.Levels, c.Groups())
	c.confirmation.start = o.Now()
	return c
}

// Start starts the goroutines that commit the time of the groups that this node leads, raise their feature level, and
// confirm the meta group.
func (c *Cluster) Start(ctx context.Context) {
	ctx, c.stop = context.WithCancel(ctx)
	for _, g := range c.Groups() {
		c.inOrder[g].Mark()
		c.tickers.Go(func() { c.tick(ctx, g) })
		c.tickers.Go(func() { c.maintainLevel(ctx, g) })
	}
	c.tickers.Go(func() { c.confirmPeriodically(ctx) })
}

// Close stops what Start started.
func (c *Cluster) Close() {
	c.stop()
	c.tickers.Wait()
}

// WaitReady returns when every group has a leader and this node has applied what the leader had committed when it was
// first reached, and of the meta group everything that was committed before. It returns the error of ctx when ctx ends
// first.
func (c *Cluster) WaitReady(ctx context.Context) error {
	for _, g := range c.Groups() {
		if err := c.group(g).WaitLeader(ctx); err != nil {
			return fmt.Errorf("group %d has no leader: %w", g, err)
		}
	}
	for {
		err := c.confirm(ctx) // It has a timeout of its own, which an election may exceed.
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// Leaderless returns a group that, for longer than leaderlessMax, has had no leader that this node knows of, or of
// which this node's replica has been stale.
func (c *Cluster) Leaderless() (ids.Group, bool) {
	for _, g := range c.Groups() {
		if time.Since(c.inOrder[g].Time()) > leaderlessMax {
			return g, true
		}
	}
	return 0, false
}

// Leads reports whether this node leads a group and has applied everything that earlier leaders committed.
func (c *Cluster) Leads(g ids.Group) bool { return c.group(g).Ready() }

func (c *Cluster) group(g ids.Group) *raftstore.Group { return c.store.Group(uint16(g)) }

// Propose commits a command in a group, whichever node leads it, and returns the machine's answer. Every error is
// ErrUnavailable: callers need not distinguish "not applied" from "unknown", because every command is idempotent.
func (c *Cluster) Propose(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error) {
	if err := c.levels.check(g, cmd); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ProposeTimeout)
	defer cancel()
	result, err := c.group(g).Propose(ctx, cmd)
	if err != nil {
		return nil, unavailable(err)
	}
	return result, nil
}

// ProposeAt is Propose for callers who read afterwards: it returns when this node has applied the command, with the log
// index by which other nodes can wait for the same.
func (c *Cluster) ProposeAt(ctx context.Context, g ids.Group, cmd []byte) (result []byte, index uint64, err error) {
	if err := c.levels.check(g, cmd); err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, ProposeTimeout)
	defer cancel()
	result, index, err = c.group(g).ProposeAt(ctx, cmd)
	if err == nil {
		err = c.group(g).WaitApplied(ctx, index)
	}
	if err != nil {
		return nil, 0, unavailable(err)
	}
	return result, index, nil
}

// Barrier returns when this node has applied every command that any node answered before the call; a Read after it is
// linearizable. It returns ErrUnavailable when that takes longer than ProposeTimeout.
func (c *Cluster) Barrier(ctx context.Context, g ids.Group) error {
	if c.Leads(g) && c.soleVoter(g) {
		return nil // No other node can have answered one.
	}
	ctx, cancel := context.WithTimeout(ctx, ProposeTimeout)
	defer cancel()
	return unavailable(c.group(g).ReadBarrier(ctx))
}

// WaitApplied returns when this node has applied a group's commands up to an index. It returns ErrUnavailable when that
// takes longer than ProposeTimeout.
func (c *Cluster) WaitApplied(ctx context.Context, g ids.Group, index uint64) error {
	ctx, cancel := context.WithTimeout(ctx, ProposeTimeout)
	defer cancel()
	return unavailable(c.group(g).WaitApplied(ctx, index))
}

func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Read runs fn on a consistent snapshot of a group's durable state on this node. The group applies commands meanwhile.
func (c *Cluster) Read(g ids.Group, fn func(raftstore.Reader) error) error {
	return c.group(g).Read(fn)
}

// ReadWritten runs fn on a group's state as this node last wrote it: it may lack what events have changed since.
func (c *Cluster) ReadWritten(g ids.Group, fn func(raftstore.Reader) error) error {
	return c.group(g).ReadWritten(fn)
}

// Now returns the time that commands carry.
func (c *Cluster) Now() time.Time { return c.now() }

// soleVoter reports whether this node is the only voter of a group.
func (c *Cluster) soleVoter(g ids.Group) bool {
	voters, self := 0, false
	for _, m := range c.group(g).Members() {
		if m.Voter {
			voters++
			self = self || m.ID == c.node
		}
	}
	return self && voters == 1
}
