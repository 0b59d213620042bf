// Package cluster runs the raft groups of this node for the rooms above: it finds the group of a shard, proposes within a
// deadline, keeps every group's clock moving, and knows how old this node's copies are. It carries encoded commands and
// never looks at state. DESIGN.md has the reasons.
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

// ProposeTimeout bounds how long a caller waits for a commit. Afterwards the outcome is unknown, the caller is told so,
// and its repetition with the same ids is safe.
const ProposeTimeout = 5 * time.Second

// leaderlessMax is how long a group may be without a leader before the node says that it is not ready. A failover takes
// less; readiness must not flap with each, or a load balancer would take every node away at once.
const leaderlessMax = 10 * time.Second

// ErrUnavailable is returned when a command was not applied, or may not have been: no leader, overload, shutdown or an
// unknown outcome. The same command may be proposed again.
var ErrUnavailable = errors.New("the group cannot take the command right now")

// Cluster is this node's set of raft groups. It is safe for concurrent use.
type Cluster struct {
	ids.Topology
	store     *raftstore.Store
	node      string
	freshness *Freshness
	now       func() time.Time
	periods   func(time.Time) []command.Periods
	onLead    func(context.Context, ids.Group)
	log       *slog.Logger
	levels    levels
	current   current
	led       map[ids.Group]*moment.Last // When the group was last in order. Complete from New on.
	stop      context.CancelFunc
	tickers   sync.WaitGroup
}

// Options are what a Cluster needs besides its store.
type Options struct {
	Topology  ids.Topology
	Node      string // Of this node, as raft knows it.
	Freshness *Freshness
	Now       func() time.Time
	// Periods gives the current budget periods of every marketplace at a time.
	Periods func(time.Time) []command.Periods
	// OnLead is called in a goroutine of its own when this node begins to lead a group; nil: nothing to do.
	OnLead func(context.Context, ids.Group)
	Log    *slog.Logger
	Levels Levels // Zero: levels stay as they are, and no command needs one.
}

// New wraps an open store. Close the Cluster before the store.
func New(store *raftstore.Store, o Options) *Cluster {
	c := &Cluster{
		Topology: o.Topology, store: store, node: o.Node, freshness: o.Freshness, now: o.Now, periods: o.Periods,
		onLead: o.OnLead, log: o.Log, led: map[ids.Group]*moment.Last{}, stop: func() {},
	}
	for _, g := range c.Groups() {
		c.led[g] = new(moment.Last)
	}
	c.levels = newLevels(o.Levels, c.Groups())
	c.current.began = o.Now()
	return c
}

// Start begins to move the clocks of the groups that this node leads.
func (c *Cluster) Start(ctx context.Context) {
	ctx, c.stop = context.WithCancel(ctx)
	for _, g := range c.Groups() {
		c.led[g].Mark()
		c.tickers.Go(func() { c.tick(ctx, g) })
		c.tickers.Go(func() { c.keepLevel(ctx, g) })
	}
	c.tickers.Go(func() { c.keepCurrent(ctx) })
}

// Close stops the clocks.
func (c *Cluster) Close() {
	c.stop()
	c.tickers.Wait()
}

// WaitReady returns when every group has a leader, and this node what the leader had when it was first heard of, and of the
// meta group everything.
func (c *Cluster) WaitReady(ctx context.Context) error {
	for _, g := range c.Groups() {
		if err := c.group(g).WaitLeader(ctx); err != nil {
			return fmt.Errorf("group %d has no leader: %w", g, err)
		}
	}
	for {
		err := c.confirm(ctx) // Within its own time, which an election may take.
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// Leaderless returns a group that has had no leader for too long, as far as this node knows, or is too far ahead of it.
func (c *Cluster) Leaderless() (ids.Group, bool) {
	for _, g := range c.Groups() {
		if time.Since(c.led[g].Time()) > leaderlessMax {
			return g, true
		}
	}
	return 0, false
}

// Leads reports whether this node leads a group and may answer for it.
func (c *Cluster) Leads(g ids.Group) bool { return c.group(g).Ready() }

func (c *Cluster) group(g ids.Group) *raftstore.Group { return c.store.Group(uint16(g)) }

// Propose commits a command in a group, on whatever node it is led, and returns the machine's answer. The error, if any,
// is ErrUnavailable: whether the outcome is "not applied" or "unknown" makes no difference to callers, because every
// command is idempotent.
func (c *Cluster) Propose(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error) {
	if err := c.levels.allows(g, cmd); err != nil {
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

// ProposeAt is Propose for callers who read afterwards: it returns when the command has had its effect on this node, and
// the index by which other nodes can wait for the same.
func (c *Cluster) ProposeAt(ctx context.Context, g ids.Group, cmd []byte) (result []byte, index uint64, err error) {
	if err := c.levels.allows(g, cmd); err != nil {
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

// Barrier returns when this node has every command that was answered before the call, on whatever node: a Read after it
// is linearizable.
func (c *Cluster) Barrier(ctx context.Context, g ids.Group) error {
	if c.Leads(g) && c.alone(g) {
		return nil // Nobody else can have answered one.
	}
	ctx, cancel := context.WithTimeout(ctx, ProposeTimeout)
	defer cancel()
	return unavailable(c.group(g).ReadBarrier(ctx))
}

// WaitApplied returns when this node has a group's commands up to an index.
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

// Read runs fn on a consistent snapshot of a group's durable state on this node. While it runs, the group goes on.
func (c *Cluster) Read(g ids.Group, fn func(raftstore.Reader) error) error {
	return c.group(g).Read(fn)
}

// Now is the clock that stamps commands.
func (c *Cluster) Now() time.Time { return c.now() }

// alone reports whether this node is the only voter of a group.
func (c *Cluster) alone(g ids.Group) bool {
	voters, me := 0, false
	for _, m := range c.group(g).Members() {
		if m.Voter {
			voters++
			me = me || m.ID == c.node
		}
	}
	return me && voters == 1
}
