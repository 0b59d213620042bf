package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

const (
	// levelCheckInterval is how often the leader of a group checks whether all members support a higher feature level.
	levelCheckInterval = 2 * time.Second
	// levelTimeout bounds the wait for a member's answer. A member that does not answer may run an old binary.
	levelTimeout = time.Second
)

// Levels is how a Cluster learns about feature levels: a leader raises its group to the level that every member
// supports, and commands that a group does not support yet are refused.
type Levels struct {
	// Supported asks a node, which may be this one, for the newest level that its binary supports.
	Supported func(ctx context.Context, node string) (command.Level, error)
	// Reached reads the level of a group from this node's replica.
	Reached func(ids.Group) (command.Level, error)
}

// levels caches the level of each group.
type levels struct {
	Levels
	seen map[ids.Group]*atomic.Uint32 // The level that was last read; it never falls. newLevels fills the map.
}

func newLevels(l Levels, groups []ids.Group) levels {
	all := levels{Levels: l, seen: map[ids.Group]*atomic.Uint32{}}
	for _, g := range groups {
		all.seen[g] = new(atomic.Uint32)
	}
	return all
}

// level returns the level of a group as far as this node's replica has applied it.
func (l *levels) level(g ids.Group) command.Level {
	seen := l.seen[g]
	if level := command.Level(seen.Load()); level == command.LevelNewest || l.Reached == nil { // Stored from a Level.
		return level
	}
	level, err := l.Reached(g)
	if err != nil {
		return command.Level(seen.Load()) // Stored from a Level.
	}
	for {
		old := seen.Load()
		if uint32(level) <= old || seen.CompareAndSwap(old, uint32(level)) {
			return level
		}
	}
}

// check returns ErrUnavailable for a command whose level the group has not reached. A replica that is behind refuses
// too many commands, never too few.
func (l *levels) check(g ids.Group, cmd []byte) error {
	needs, known := command.Needs(cmd)
	if needs == command.LevelFormat1 && known {
		return nil
	}
	if reached := l.level(g); needs > reached || !known {
		return fmt.Errorf("%w: it needs feature level %d and group %d has reached %d", ErrUnavailable, needs, g, reached)
	}
	return nil
}

// Level returns the feature level of a group on this node. Writers of newer encodings check it.
func (c *Cluster) Level(g ids.Group) command.Level { return c.levels.level(g) }

// CheckJoin returns an error for a node whose binary does not support the level that the cluster has reached: the node
// would stop at the first command, or snapshot, that it cannot read.
func CheckJoin(reached command.Level, version string, knows command.Level) error {
	if knows >= reached {
		return nil
	}
	return fmt.Errorf("it runs %s, which supports feature level %d, and the cluster has reached %d; "+
		"start it with the version of the other nodes",
		version, knows, reached)
}

// maintainLevel raises the level of a group until it is the newest that this binary supports.
func (c *Cluster) maintainLevel(ctx context.Context, g ids.Group) {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	var last time.Time
	for c.levels.Supported != nil && c.levels.level(g) < command.LevelNewest {
		if now := c.now(); c.Leads(g) && now.Sub(last) >= levelCheckInterval {
			c.raiseLevel(ctx, g)
			last = now
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// raiseLevel proposes the highest level that every member of the group supports, if it is higher than the group's.
// Non-voters count, because they apply what the voters apply. A member that is lost for good has to be removed before
// the level can rise.
func (c *Cluster) raiseLevel(ctx context.Context, g ids.Group) {
	var members []string
	for _, m := range c.group(g).Members() {
		members = append(members, m.ID)
	}
	level := c.levels.common(ctx, members)
	reached := c.levels.level(g)
	if level <= reached {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ProposeTimeout)
	defer cancel()
	_, err := c.group(g).Propose(ctx, command.AppendSetFeature(nil, c.now().UnixMilli(), command.SetFeature{Level: level}))
	if err != nil {
		c.log.Debug("feature_level_raise_failed", slog.Int("group", int(g)), slog.Any("err", err))
		return
	}
	c.log.Info("feature_level_raised", slog.Int("group", int(g)), slog.Int("from", int(reached)), slog.Int("to", int(level)))
}

// common returns the highest level that this binary and all of the nodes support. A node that does not answer supports
// none.
func (l *levels) common(ctx context.Context, nodes []string) command.Level {
	ctx, cancel := context.WithTimeout(ctx, levelTimeout)
	defer cancel()
	all := make([]command.Level, len(nodes))
	var requests sync.WaitGroup
	for i, node := range nodes {
		requests.Go(func() {
			if level, err := l.Supported(ctx, node); err == nil {
				all[i] = level
			}
		})
	}
	requests.Wait()
	level := command.LevelNewest
	for _, supported := range all {
		level = min(level, supported)
	}
	return level
}
