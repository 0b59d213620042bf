// Package cluster runs the raft groups of this node for the rooms above: it finds the group of a shard, proposes within a
// deadline, and keeps every group's clock moving. It carries encoded commands and never looks at state.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// ProposeTimeout bounds how long a caller waits for a commit. Afterwards the outcome is unknown, the caller is told so,
// and its repetition with the same ids is safe.
const ProposeTimeout = 5 * time.Second

// tickEvery is how often a leader moves its group's clock. Reports promise completeness within 2 s, which needs a clock
// younger than that; budget periods and the duplicate horizon hang on the same tick.
const tickEvery = time.Second

// ErrUnavailable is returned when a command was not applied, or may not have been: no leader, overload, shutdown or an
// unknown outcome. The same command may be proposed again.
var ErrUnavailable = errors.New("the group cannot take the command right now")

// Cluster is this node's set of raft groups. It is safe for concurrent use.
type Cluster struct {
	ids.Topology
	store   *raftstore.Store
	now     func() time.Time
	periods func(time.Time) []command.Periods
	log     *slog.Logger
	stop    context.CancelFunc
	tickers sync.WaitGroup
}

// Options are what a Cluster needs besides its store.
type Options struct {
	Topology ids.Topology
	Now      func() time.Time
	// Periods gives the current budget periods of every marketplace at a time.
	Periods func(time.Time) []command.Periods
	Log     *slog.Logger
}

// New wraps an open store. Close the Cluster before the store.
func New(store *raftstore.Store, o Options) *Cluster {
	return &Cluster{Topology: o.Topology, store: store, now: o.Now, periods: o.Periods, log: o.Log, stop: func() {}}
}

// Start begins to move the clocks of the groups that this node leads.
func (c *Cluster) Start(ctx context.Context) {
	ctx, c.stop = context.WithCancel(ctx)
	for _, g := range c.Groups() {
		c.tickers.Go(func() { c.tick(ctx, g) })
	}
}

// Close stops the clocks.
func (c *Cluster) Close() {
	c.stop()
	c.tickers.Wait()
}

// WaitReady returns when every group has a leader that has applied everything committed before it.
func (c *Cluster) WaitReady(ctx context.Context) error {
	for _, g := range c.Groups() {
		if err := c.store.Group(uint16(g)).WaitReady(ctx); err != nil {
			return fmt.Errorf("group %d: %w", g, err)
		}
	}
	return nil
}

// Ready reports whether every group can take commands.
func (c *Cluster) Ready() bool {
	for _, g := range c.Groups() {
		if !c.store.Group(uint16(g)).Ready() {
			return false
		}
	}
	return true
}

// Propose commits a command in a group and returns the machine's answer. The error, if any, is ErrUnavailable: whether
// the outcome is "not applied" or "unknown" makes no difference to callers, because every command is idempotent.
func (c *Cluster) Propose(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, ProposeTimeout)
	defer cancel()
	result, err := c.store.Group(uint16(g)).Propose(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return result, nil
}

// Read runs fn on a consistent snapshot of a group's durable state. While it runs, the group goes on.
func (c *Cluster) Read(g ids.Group, fn func(raftstore.Reader) error) error {
	return c.store.Group(uint16(g)).Read(fn)
}

// Now is the clock that stamps commands.
func (c *Cluster) Now() time.Time { return c.now() }

func (c *Cluster) tick(ctx context.Context, g ids.Group) {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !c.store.Group(uint16(g)).Ready() {
			continue
		}
		now := c.now()
		advance := command.Advance{Periods: c.periods(now)}
		if _, err := c.Propose(ctx, g, command.AppendAdvance(nil, now.UnixMilli(), &advance)); err != nil && ctx.Err() == nil {
			c.log.Warn("clock_tick_failed", slog.Int("group", int(g)), slog.Any("err", err))
		}
	}
}
