package daemon

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// Manifest says what a backup holds.
type Manifest = raftstore.Manifest

// Recovery says what a recovery found and did.
type Recovery = raftstore.Recovery

// Backup streams the state of all groups. It tells the newest feature level of this binary as its version: a binary that
// knows less cannot restore it.
func (o operations) Backup(ctx context.Context, w io.Writer, local bool) error {
	_, err := o.raft.Backup(ctx, w, raftstore.BackupInfo{TakenAt: time.Now(), StateVersion: uint32(command.LevelNewest), Local: local})
	return err
}

// VerifyBackup reads a backup to its end and checks every checksum.
func VerifyBackup(r io.Reader) (Manifest, error) { return raftstore.VerifyBackup(r) }

// Restore makes the empty directory of a configuration a cluster of one node with the state of a backup. REQUIRES: m is
// the manifest of the backup.
func Restore(cfg config.Config, m Manifest, r io.Reader) error {
	var groups []uint16
	for _, g := range m.Groups {
		groups = append(groups, g.Group)
	}
	c := offline(cfg, groups).raftConfig(groups)
	c.Ballast = -1 // The next start makes it.
	_, err := raftstore.RestoreBackup(c, r)
	return err
}

// RecoverQuorum makes a stopped node the only voter of every group, with what it has.
func RecoverQuorum(cfg config.Config) (Recovery, error) {
	groups, err := raftstore.FoundedGroups(vfs.Default, cfg.DataDir)
	if err != nil {
		return Recovery{}, err
	}
	return raftstore.RecoverQuorum(offline(cfg, groups).raftConfig(groups))
}

// offline is as much of a node as its state machines need to load.
func offline(cfg config.Config, groups []uint16) *node {
	topology := ids.Topology{DataGroups: max(1, len(groups)-1)} // A single group is meta and data in one.
	n := &node{
		cfg: cfg, log: newLogger(cfg.Log), topology: topology, freshness: cluster.NewFreshness(topology, cfg.Staleness, time.Now),
	}
	n.feed = &feed{
		Market: market.New(randomSeed()), keys: auth.NewTable(),
		onBadKey: func(err error) { n.log.Error("api_key_unreadable", slog.Any("err", err)) },
	}
	return n
}
