package daemon

import (
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/shard/ids"
)

// scrape reads the state of replication and storage for the metrics.
func (n *node) scrape() metrics.Node {
	stats := n.raft.Stats()
	out := metrics.Node{
		Databases: []metrics.Database{database("raftlog", &stats.Log), database("state", &stats.State)}, Cache: metrics.Cache(stats.Cache),
		Market: metrics.Market{Version: n.publisher.View().Edition()},
		Peers:  peers(&stats), Rebuilt: stats.StatesRebuilt, Reaped: stats.TmpDeleted, ClockOffset: stats.ClockOffset, ClockWrong: stats.ClockWrong,
		StateChecks: stats.StateChecks, StateMismatches: stats.StateMismatches, OldestCall: stats.OldestCall,
		Pacing: n.pacingMetrics(), AuctionCounts: n.tallyMetrics(), Transit: transits(n.transit.Load(), time.Now()), Mails: n.mailCounts.read(n.cfg.SMTP.Server != ""),
		Backups: n.backupCounts.read(), Archive: n.logCounts.read(), Exports: n.exportMetrics(), Sinks: n.sinkMetrics(),
	}
	out.AuditWaiting = n.auditLog.count()
	out.Ready = n.readiness() == ""
	n.scrapeResources(&out)
	n.scrapeCertificates(&out)
	for _, kind := range []limits.Kind{limits.KindReport, limits.KindExplain, limits.KindForecast} {
		s := n.background.Stats(kind)
		out.Background = append(out.Background, metrics.Background{
			Kind: kind.String(), Running: s.Running, Waiting: s.Waiting, Refused: s.Refused, CPU: s.CPU,
		})
	}
	out.Turns.Waiting, out.Turns.CPU = n.background.Turns()
	out.Turns.Refused = n.resources.slots.Refusals()
	if s := n.raft.Space(); s.Watched {
		out.Disk = metrics.Disk{Watched: true, Free: s.Free, Reserve: s.Reserve, Low: s.Low}
	}
	for _, g := range n.raft.Status() {
		leader := g.State == "Leader"
		group := metrics.Group{
			ID: g.Group, Leader: leader, Ready: g.Ready, Term: g.Term, First: g.FirstIndex, Last: g.LastIndex,
			Commit: g.CommitIndex, Applied: g.Applied, Digest: g.Digest, Snapshots: g.Snapshots,
			Queued: g.Queued, Inflight: g.Outstanding, Entries: g.ProposedEntries, Commands: g.ProposedCommands,
			Unknown: g.Unknown, Apply: g.ApplyTime, Installs: g.Restores, SnapshotBytes: g.SnapshotBytes, SnapshotsPutOff: g.SnapshotsPostponed, SnapshotTime: g.SnapshotTime,
			LeaderChanges: g.LeaderTerms, Refused: g.Refused, Propose: durations(&g.Propose), Peers: followers(g.Peers),
		}
		if !g.OldestEntry.IsZero() {
			group.OldestEntry = max(time.Since(g.OldestEntry), 1)
		}
		group.Overdelivered = n.overdelivered(g.Group)
		age := n.replicaAges.Age(ids.Group(g.Group))
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

// durations converts the counts of single buckets to cumulative counts up to each bound, as Prometheus histograms have
// them.
func durations(l *proposal.Latencies) metrics.Durations {
	d := metrics.Durations{Cumulative: map[float64]uint64{}, Sum: l.Total}
	for i, n := range l.Buckets {
		d.Count += n
		if bound := l.Bound(i); !math.IsInf(bound, 1) {
			d.Cumulative[bound] = d.Count
		}
	}
	return d
}

func transits(all *[]jobs.TransitSummary, now time.Time) (out []metrics.Transit) {
	if all == nil {
		return nil
	}
	for _, t := range *all {
		out = append(out, metrics.Transit{
			Marketplace: t.Marketplace, Transfers: t.Transfers, Micros: t.Micros, Oldest: max(now.Sub(time.UnixMilli(t.OldestMillis)), 0),
		})
	}
	return out
}

func followers(all []raftstore.PeerStatus) (out []metrics.Peer) {
	for _, p := range all {
		f := metrics.Peer{Node: p.Node, Lag: p.Lag, Contact: -1}
		if !p.Contact.IsZero() {
			f.Contact = max(time.Since(p.Contact), 0)
		}
		out = append(out, f)
	}
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
			{Why: "displaced", N: s.PeerRejectDisplaced},
			{Why: "accept", N: s.PeerRejectAccept},
		},
	}
}

func database(name string, s *raftstore.DBStats) metrics.Database {
	d := metrics.Database{
		Name: name, DiskBytes: s.DiskBytes, WALBytes: s.WALBytesWritten, MemtableBytes: s.MemTableBytes,
		Compactions: s.Compactions, Flushes: s.Flushes,
		L0Sublevels: int64(s.L0Sublevels), WriteStalls: s.WriteStalls, BackgroundErrors: s.BackgroundErrors,
	}
	if s.Pebble != nil {
		d.L0Files, d.ReadAmplification = s.Pebble.Levels[0].TablesCount, int64(s.Pebble.ReadAmp())
	}
	return d
}

// fsyncs returns how often the log was synced and how long all syncs took together, from Pebble's own histogram.
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
