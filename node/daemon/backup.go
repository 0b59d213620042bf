package daemon

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// Manifest describes the content of a backup.
type Manifest = backup.Manifest

// Recovery describes what a recovery of a lost quorum found and changed.
type Recovery = raftstore.Recovery

// Backup streams the state of all groups to w. The backup records the newest feature level of this binary as its
// version: a binary whose newest level is lower cannot restore it. With local the state is that of this node's
// replicas, as far as they got; otherwise each group is read at its leader's state.
func (o operations) Backup(ctx context.Context, w io.Writer, local bool) error {
	_, err := o.raft.Backup(ctx, w, raftstore.BackupInfo{TakenAt: time.Now(), StateVersion: uint32(command.LevelNewest), Local: local})
	o.backupCounts.count(time.Now(), err)
	return err
}

// backupCounts counts backups since the start of the node. It is safe for concurrent use.
type backupCounts struct {
	sent, failed atomic.Uint64
	last         atomic.Int64 // Unix time of the last one that was sent; 0 for none.
}

// count counts a backup that ended at a time.
func (b *backupCounts) count(now time.Time, err error) {
	if err != nil {
		b.failed.Add(1)
		return
	}
	b.sent.Add(1)
	b.last.Store(now.Unix())
}

func (b *backupCounts) read() metrics.Backups {
	out := metrics.Backups{Sent: b.sent.Load(), Failed: b.failed.Load()}
	if last := b.last.Load(); last != 0 {
		out.Last = time.Unix(last, 0)
	}
	return out
}

// logCounts counts parts of the log that were sent to an archive, since the start of the node. It is safe for concurrent
// use.
type logCounts struct {
	backupCounts
	gaps atomic.Uint64
}

// count counts a part that ended at a time, or that a gap made impossible.
func (c *logCounts) count(now time.Time, err error, gap bool) {
	if gap {
		c.gaps.Add(1)
		return
	}
	c.backupCounts.count(now, err)
}

func (c *logCounts) read() metrics.Archive {
	b := c.backupCounts.read()
	return metrics.Archive{Sent: b.Sent, Failed: b.Failed, Gaps: c.gaps.Load(), Last: b.Last}
}

// VerifyBackup reads a backup to its end and checks every checksum. It returns the manifest, and an error when the
// backup is damaged or incomplete.
func VerifyBackup(r io.Reader) (Manifest, error) { return backup.Verify(r) }

// Wanted is what a restore makes of a backup; its zero value is the state of the backup.
type Wanted struct {
	History *History // What is replayed behind the backup; nil: nothing.
	// Only is the marketplace that is opened, while all others are closed, as ParseMarketplace returned it; empty: they stay as
	// they were. It must have been closed in the restored state, because what an open one records afterwards in its old cell
	// would be lost.
	Only string
}

// Restore turns the empty data directory of a configuration into a cluster of one node with the state of a backup.
// REQUIRES: m is the manifest of the backup in r, as VerifyBackup returned it, and VerifyHistory returned no error for the
// history.
func Restore(cfg config.Config, m Manifest, r io.Reader, want Wanted) error {
	var groups []uint16
	for _, g := range m.Groups {
		groups = append(groups, g.Group)
	}
	n := offline(cfg, groups)
	c := n.raftConfig(groups)
	c.Ballast = -1 // No ballast file; the next start creates it.
	_, err := raftstore.RestoreBackup(c, r, want.behind(n.topology))
	return err
}

// behind returns what raftstore does behind the backup.
func (w *Wanted) behind(t ids.Topology) *raftstore.History {
	h := new(raftstore.History)
	if w.History != nil {
		h.Segments, h.Keep = w.History.Segments(), w.History.keep
	}
	if w.Only != "" {
		h.Change = func(s *raftstore.Store) error { return openOnly(s, t, w.Only) }
	}
	return h
}

// RecoverQuorum makes a stopped node the only voter of every group, with the state that its disk holds. Entries that
// only the lost nodes had are lost.
func RecoverQuorum(cfg config.Config) (Recovery, error) {
	groups, err := raftstore.FoundedGroups(vfs.Default, cfg.DataDir)
	if err != nil {
		return Recovery{}, err
	}
	return raftstore.RecoverQuorum(offline(cfg, groups).raftConfig(groups))
}

// offline builds as much of a node as its state machines need to load the disk, without listeners or goroutines. It
// logs warnings only, because the command that called it prints what it does.
func offline(cfg config.Config, groups []uint16) *node {
	cfg.Log.Level = "warn"
	log, _ := newLogger(cfg.Log, standardError)
	topology := ids.Topology{DataGroups: max(1, len(groups)-1)} // A single group holds both meta and data.
	n := &node{
		cfg: cfg, log: log, topology: topology, replicaAges: cluster.NewReplicaAges(topology, cfg.Staleness, time.Now),
	}
	view := market.New(randomSeed())
	n.publisher = &publisher{
		Market: view, pacer: n.newPacer(view), keys: auth.NewTable(),
		onBadKey: func(err error) { n.log.Error("api_key_unreadable", slog.Any("err", err)) },
		loaded:   &n.loaded,
	}
	return n
}
