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
	// levelEvery is how often the leader of a group looks whether all members know a higher feature level.
	levelEvery = 2 * time.Second
	// levelTimeout bounds the wait for a member's answer. Who does not answer may be an old binary.
	levelTimeout = time.Second
)

// Levels is how a Cluster learns of feature levels: a leader raises its group to what every member knows, and nobody
// proposes a command that its group is not ready for.
type Levels struct {
	// Known asks a node, this one too, for the newest level that its binary knows: 0 of a binary from before there were levels.
	Known func(ctx context.Context, node string) (command.Level, error)
	// Reached reads the level of a group from this node's copy.
	Reached func(ids.Group) (command.Level, error)
}

// levels is a Cluster's side of it.
type levels struct {
	Levels
	seen map[ids.Group]*atomic.Uint32 // What was last read; it never falls. Complete from New on.
}

func newLevels(l Levels, groups []ids.Group) levels {
	all := levels{Levels: l, seen: map[ids.Group]*atomic.Uint32{}}
	for _, g := range groups {
		all.seen[g] = new(atomic.Uint32)
	}
	return all
}

// reached is the level of a group as far as this node's copy has come.
func (l *levels) reached(g ids.Group) command.Level {
	seen := l.seen[g]
	if level := command.Level(seen.Load()); level == command.LevelNewest || l.Reached == nil { //nolint:gosec // stored from a Level.
		return level
	}
	level, err := l.Reached(g)
	if err != nil {
		return command.Level(seen.Load()) //nolint:gosec // stored from a Level.
	}
	for {
		old := seen.Load()
		if uint32(level) <= old || seen.CompareAndSwap(old, uint32(level)) {
			return level
		}
	}
}

// allows refuses a command that the group has not the level for. A copy that is behind refuses too much, never too little.
func (l *levels) allows(g ids.Group, cmd []byte) error {
	needs, known := command.Needs(cmd)
	if needs == command.LevelNone && known {
		return nil
	}
	if reached := l.reached(g); needs > reached || !known {
		return fmt.Errorf("%w: it needs feature level %d and group %d has reached %d", ErrUnavailable, needs, g, reached)
	}
	return nil
}

// Level is the feature level that a group has reached on this node: what writers of newer encodings ask.
func (c *Cluster) Level(g ids.Group) command.Level { return c.levels.reached(g) }

// Admits keeps a node out whose version does not know the level that the cluster has reached: it would end at the first command
// that it cannot read, or at the snapshot.
func Admits(reached command.Level, version string, knows command.Level) error {
	if knows >= reached {
		return nil
	}
	return fmt.Errorf("it runs %s, which knows feature level %d, and the cluster has reached %d; start it with the version that the others run",
		version, knows, reached)
}

// keepLevel raises the level of a group, as long as this binary knows a higher one.
func (c *Cluster) keepLevel(ctx context.Context, g ids.Group) {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	var last time.Time
	for c.levels.Known != nil && c.levels.reached(g) < command.LevelNewest {
		if now := c.now(); c.Leads(g) && now.Sub(last) >= levelEvery {
			c.raise(ctx, g)
			last = now
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// raise proposes the level that every member of the group knows, if that is more than the group has: learners too, which apply
// what the voters apply. A member that is gone for good has to be removed before the level rises.
func (c *Cluster) raise(ctx context.Context, g ids.Group) {
	var members []string
	for _, m := range c.group(g).Members() {
		members = append(members, m.ID)
	}
	level := c.levels.common(ctx, members)
	reached := c.levels.reached(g)
	if level <= reached {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ProposeTimeout)
	defer cancel()
	_, err := c.group(g).Propose(ctx, command.AppendSetFeature(nil, c.now().UnixMilli(), command.SetFeature{Level: level}))
	if err != nil {
		c.log.Debug("feature_level_not_raised", slog.Int("group", int(g)), slog.Any("err", err))
		return
	}
	c.log.Info("feature_level_raised", slog.Int("group", int(g)), slog.Int("from", int(reached)), slog.Int("to", int(level)))
}

// common is the highest level that this binary and all of some nodes know. One that does not answer knows none.
func (l *levels) common(ctx context.Context, nodes []string) command.Level {
	ctx, cancel := context.WithTimeout(ctx, levelTimeout)
	defer cancel()
	all := make([]command.Level, len(nodes))
	var asked sync.WaitGroup
	for i, node := range nodes {
		asked.Go(func() {
			if level, err := l.Known(ctx, node); err == nil {
				all[i] = level
			}
		})
	}
	asked.Wait()
	level := command.LevelNewest
	for _, known := range all {
		level = min(level, known)
	}
	return level
}
