package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Node is the state of replication, storage and market at one moment, in plain numbers: this package knows neither raft
// nor Pebble. Totals only grow.
type Node struct {
	Groups    []Group
	Proposals Proposals
	Databases []Database
	Market    Market
	Peers     Peers
	Disk      Disk
	Rebuilt   int // States, at the last start.

	ClockOffset time.Duration // Ahead of the median of the members.
	ClockWrong  bool
}

// Group is one raft group.
type Group struct {
	ID                           uint16
	Leader, Ready                bool
	Term                         uint64
	First, Last, Commit, Applied uint64 // Log indexes.
	Digest                       uint64 // Of the state at Applied.
	LastContact                  time.Duration
	Snapshots                    uint64
	Staleness                    time.Duration
	Fenced                       uint64
	Queued, Inflight             int
	Entries, Commands, Unknown   uint64
	Apply                        time.Duration
	Installs                     uint64
	SnapshotBytes                uint64
	SnapshotTime                 time.Duration
}

// Peers is the peer port and the way to leaders.
type Peers struct {
	Rejects                []Reject
	Conns                  int
	Forwarded, ForwardLost uint64
}

// Reject is how often peers were refused for a reason.
type Reject struct {
	Why string
	N   uint64
}

// Disk is the disk of the data directory.
type Disk struct {
	Watched       bool
	Free, Reserve uint64
	Low           bool
}

// Proposals is the write path of all groups together.
type Proposals struct {
	Batches, Commands, Bytes uint64
	Fsyncs                   uint64
	FsyncTime                time.Duration
	DiskStalls               uint64
}

// Database is one Pebble database.
type Database struct {
	Name                               string // "raftlog" or "state".
	DiskBytes, WALBytes, MemtableBytes uint64
	L0Files                            int64
	ReadAmplification                  int64
	Compactions, Flushes               int64
	CacheHits, CacheMisses             int64
}

// Market is the published view.
type Market struct{ Version uint64 }

// OnScrape sets where a scrape reads the node's state. Before it is set, the metrics of the node are absent.
func (m *Metrics) OnScrape(read func() Node) { m.node.Store(&read) }

// nodeCollector is the Metrics as the collector of the node's state.
type nodeCollector Metrics

// gauge is one number of the node and how to read it from the part T it belongs to.
type gauge[T any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*T) float64
}

const (
	level = prometheus.GaugeValue
	total = prometheus.CounterValue
)

var groupGauges = []gauge[Group]{
	{raftLeader.desc(), level, func(g *Group) float64 { return flag(g.Leader) }},
	{raftReady.desc(), level, func(g *Group) float64 { return flag(g.Ready) }},
	{raftTerm.desc(), level, func(g *Group) float64 { return float64(g.Term) }},
	{raftFirst.desc(), level, func(g *Group) float64 { return float64(g.First) }},
	{raftLast.desc(), level, func(g *Group) float64 { return float64(g.Last) }},
	{raftCommit.desc(), level, func(g *Group) float64 { return float64(g.Commit) }},
	{raftApplied.desc(), level, func(g *Group) float64 { return float64(g.Applied) }},
	{raftDigest.desc(), level, func(g *Group) float64 { return float64(g.Digest >> 11) }}, // A float holds 53 bits.
	{raftContact.desc(), level, func(g *Group) float64 { return g.LastContact.Seconds() }},
	{raftSnapshots.desc(), total, func(g *Group) float64 { return float64(g.Snapshots) }},
	{raftStaleness.desc(), level, func(g *Group) float64 { return g.Staleness.Seconds() }},
	{raftFenced.desc(), total, func(g *Group) float64 { return float64(g.Fenced) }},
	{raftLag.desc(), level, func(g *Group) float64 { return float64(max(g.Commit, g.Applied) - g.Applied) }},
	{raftQueued.desc(), level, func(g *Group) float64 { return float64(g.Queued) }},
	{raftInflight.desc(), level, func(g *Group) float64 { return float64(g.Inflight) }},
	{raftEntries.desc(), total, func(g *Group) float64 { return float64(g.Entries) }},
	{raftCommands.desc(), total, func(g *Group) float64 { return float64(g.Commands) }},
	{raftUnknown.desc(), total, func(g *Group) float64 { return float64(g.Unknown) }},
	{raftApply.desc(), total, func(g *Group) float64 { return g.Apply.Seconds() }},
	{raftInstalls.desc(), total, func(g *Group) float64 { return float64(g.Installs) }},
	{raftSnapBytes.desc(), level, func(g *Group) float64 { return float64(g.SnapshotBytes) }},
	{raftSnapSeconds.desc(), level, func(g *Group) float64 { return g.SnapshotTime.Seconds() }},
}

var databaseGauges = []gauge[Database]{
	{pebbleDisk.desc(), level, func(d *Database) float64 { return float64(d.DiskBytes) }},
	{pebbleWAL.desc(), total, func(d *Database) float64 { return float64(d.WALBytes) }},
	{pebbleMemtable.desc(), level, func(d *Database) float64 { return float64(d.MemtableBytes) }},
	{pebbleL0.desc(), level, func(d *Database) float64 { return float64(d.L0Files) }},
	{pebbleReadAmp.desc(), level, func(d *Database) float64 { return float64(d.ReadAmplification) }},
	{pebbleCompactions.desc(), total, func(d *Database) float64 { return float64(d.Compactions) }},
	{pebbleFlushes.desc(), total, func(d *Database) float64 { return float64(d.Flushes) }},
	{pebbleCacheHits.desc(), total, func(d *Database) float64 { return float64(d.CacheHits) }},
	{pebbleCacheMisses.desc(), total, func(d *Database) float64 { return float64(d.CacheMisses) }},
}

var nodeGauges = []gauge[Node]{
	{proposeBatches.desc(), total, func(n *Node) float64 { return float64(n.Proposals.Batches) }},
	{proposeCommands.desc(), total, func(n *Node) float64 { return float64(n.Proposals.Commands) }},
	{proposeBytes.desc(), total, func(n *Node) float64 { return float64(n.Proposals.Bytes) }},
	{fsyncsTotal.desc(), total, func(n *Node) float64 { return float64(n.Proposals.Fsyncs) }},
	{fsyncSeconds.desc(), total, func(n *Node) float64 { return n.Proposals.FsyncTime.Seconds() }},
	{diskStalls.desc(), total, func(n *Node) float64 { return float64(n.Proposals.DiskStalls) }},
	{peerConns.desc(), level, func(n *Node) float64 { return float64(n.Peers.Conns) }},
	{forwarded.desc(), total, func(n *Node) float64 { return float64(n.Peers.Forwarded) }},
	{forwardLost.desc(), total, func(n *Node) float64 { return float64(n.Peers.ForwardLost) }},
	{rebuilt.desc(), total, func(n *Node) float64 { return float64(n.Rebuilt) }},
	{clockOffset.desc(), level, func(n *Node) float64 { return n.ClockOffset.Seconds() }},
	{clockWrong.desc(), level, func(n *Node) float64 { return flag(n.ClockWrong) }},
	{viewVersion.desc(), level, func(n *Node) float64 { return float64(n.Market.Version) }},
}

var rejectGauges = []gauge[Reject]{
	{peerRejects.desc(), total, func(r *Reject) float64 { return float64(r.N) }},
}

var diskGauges = []gauge[Disk]{
	{diskFree.desc(), level, func(d *Disk) float64 { return float64(d.Free) }},
	{diskReserve.desc(), level, func(d *Disk) float64 { return float64(d.Reserve) }},
	{diskLow.desc(), level, func(d *Disk) float64 { return flag(d.Low) }},
}

// Describe names the metrics.
func (c *nodeCollector) Describe(to chan<- *prometheus.Desc) {
	for i := range groupGauges {
		to <- groupGauges[i].desc
	}
	for i := range databaseGauges {
		to <- databaseGauges[i].desc
	}
	for i := range nodeGauges {
		to <- nodeGauges[i].desc
	}
	for i := range rejectGauges {
		to <- rejectGauges[i].desc
	}
	for i := range diskGauges {
		to <- diskGauges[i].desc
	}
}

// Collect reads the node once and reports every number of it.
func (c *nodeCollector) Collect(to chan<- prometheus.Metric) {
	read := c.node.Load()
	if read == nil {
		return
	}
	n := (*read)()
	for i := range n.Groups {
		report(to, groupGauges, &n.Groups[i], strconv.Itoa(int(n.Groups[i].ID)))
	}
	for i := range n.Databases {
		report(to, databaseGauges, &n.Databases[i], n.Databases[i].Name)
	}
	for i := range n.Peers.Rejects {
		report(to, rejectGauges, &n.Peers.Rejects[i], n.Peers.Rejects[i].Why)
	}
	if n.Disk.Watched {
		report(to, diskGauges, &n.Disk)
	}
	report(to, nodeGauges, &n)
}

func report[T any](to chan<- prometheus.Metric, gauges []gauge[T], part *T, labels ...string) {
	for i := range gauges {
		to <- prometheus.MustNewConstMetric(gauges[i].desc, gauges[i].kind, gauges[i].read(part), labels...)
	}
}

func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
