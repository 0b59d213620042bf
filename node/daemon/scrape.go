package daemon

import (
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard/ids"
)

// scrape reads the state of replication and storage for the metrics.
func (n *node) scrape() metrics.Node {
	stats := n.raft.Stats()
	out := metrics.Node{
		Databases: []metrics.Database{database("raftlog", &stats.Log), database("state", &stats.State)},
		Market:    metrics.Market{Version: n.feed.View().Edition()},
		Peers:     peers(&stats), Rebuilt: stats.StatesRebuilt, ClockOffset: stats.ClockOffset, ClockWrong: stats.ClockWrong,
	}
	if s := n.raft.Space(); s.Watched {
		out.Disk = metrics.Disk{Watched: true, Free: s.Free, Reserve: s.Reserve, Low: s.Low}
	}
	for _, g := range n.raft.Status() {
		leader := g.State == "Leader"
		group := metrics.Group{
			ID: g.Group, Leader: leader, Ready: g.Ready, Term: g.Term, First: g.FirstIndex, Last: g.LastIndex,
			Commit: g.CommitIndex, Applied: g.Applied, Digest: g.Digest, Snapshots: g.Snapshots,
			Queued: g.Queued, Inflight: g.Outstanding, Entries: g.ProposedEntries, Commands: g.ProposedCommands,
			Unknown: g.Unknown, Apply: g.Applying, Installs: g.Restores, SnapshotBytes: g.SnapshotBytes, SnapshotTime: g.SnapshotTime,
		}
		age := n.freshness.Age(ids.Group(g.Group))
		group.Staleness, group.Fenced = age.Staleness, age.Fenced
		if !leader && !g.LastContact.IsZero() {
			group.LastContact = time.Since(g.LastContact)
		}
		out.Groups = append(out.Groups, group)
		out.Proposals.Batches += g.ProposedEntries
		out.Proposals.Commands += g.ProposedCommands
		out.Proposals.Bytes += g.ProposedBytes
	}
	out.Proposals.DiskStalls = stats.Log.DiskSlow + stats.State.DiskSlow
	out.Proposals.Fsyncs, out.Proposals.FsyncTime = fsyncs(&stats.Log)
	return out
}

func peers(s *raftstore.Stats) metrics.Peers {
	return metrics.Peers{
		Conns: s.PeerConns, Forwarded: s.Forwarded, ForwardLost: s.ForwardLost,
		Rejects: []metrics.Reject{
			{Why: "full", N: s.PeerRejectFull},
			{Why: "header", N: s.PeerRejectHeader},
			{Why: "cluster", N: s.PeerRejectCluster},
			{Why: "stream", N: s.PeerRejectStream},
			{Why: "handshake", N: s.PeerRejectHandshake},
			{Why: "no_certificate", N: s.PeerRejectNoCertificate},
			{Why: "authority", N: s.PeerRejectAuthority},
			{Why: "expired", N: s.PeerRejectExpired},
			{Why: "name", N: s.PeerRejectName},
		},
	}
}

func database(name string, s *raftstore.DBStats) metrics.Database {
	d := metrics.Database{
		Name: name, DiskBytes: s.DiskBytes, WALBytes: s.WALBytesWritten, MemtableBytes: s.MemTableBytes,
		Compactions: s.Compactions, Flushes: s.Flushes, CacheHits: s.CacheHits, CacheMisses: s.CacheMisses,
	}
	if s.Pebble != nil {
		d.L0Files, d.ReadAmplification = s.Pebble.Levels[0].TablesCount, int64(s.Pebble.ReadAmp())
	}
	return d
}

// fsyncs reads how often the log was synced and how long that took in total from Pebble's own histogram.
func fsyncs(s *raftstore.DBStats) (n uint64, total time.Duration) {
	if s.Pebble == nil || s.Pebble.LogWriter.FsyncLatency == nil {
		return 0, 0
	}
	var m dto.Metric
	if err := s.Pebble.LogWriter.FsyncLatency.Write(&m); err != nil {
		return 0, 0
	}
	return m.GetHistogram().GetSampleCount(), time.Duration(m.GetHistogram().GetSampleSum())
}
