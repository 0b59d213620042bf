package metrics

import (
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// nodeCollector collects the metrics of the node's state.
type nodeCollector Metrics

// gauge is one number of the node and the function that reads it from T, the part that it belongs to.
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
	{raftDigest.desc(), level, func(g *Group) float64 { return float64(g.Digest >> 11) }}, // A float64 holds 53 bits exactly.
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
	{raftSnapPutOff.desc(), total, func(g *Group) float64 { return float64(g.SnapshotsPutOff) }},
	{raftSnapSeconds.desc(), level, func(g *Group) float64 { return g.SnapshotTime.Seconds() }},
	{raftLeaders.desc(), total, func(g *Group) float64 { return float64(g.LeaderChanges) }},
	{raftRefused.desc(), total, func(g *Group) float64 { return float64(g.Refused) }},
	{overdelivered.desc(), total, func(g *Group) float64 { return float64(g.Overdelivered) }},
}

// oldestGauges are reported for a group whose oldest entry is known.
var oldestGauges = []gauge[Group]{
	{raftOldest.desc(), level, func(g *Group) float64 { return g.OldestEntry.Seconds() }},
}

var peerGauges = []gauge[Peer]{
	{peerLag.desc(), level, func(p *Peer) float64 { return float64(p.Lag) }},
}

// contactGauges are reported for a follower that has answered at least once.
var contactGauges = []gauge[Peer]{
	{peerContact.desc(), level, func(p *Peer) float64 { return p.Contact.Seconds() }},
}

var transitGauges = []gauge[Transit]{
	{transitCount.desc(), level, func(t *Transit) float64 { return float64(t.Transfers) }},
	{transitMicros.desc(), level, func(t *Transit) float64 { return float64(t.Micros) }},
	{transitOldest.desc(), level, func(t *Transit) float64 { return t.Oldest.Seconds() }},
}

// exportGauges are reported where exports are configured.
var exportGauges = []gauge[Exports]{
	{exportRows.desc(), total, func(e *Exports) float64 { return float64(e.Rows) }},
	{exportFiles.desc(), total, func(e *Exports) float64 { return float64(e.Files) }},
	{exportFailures.desc(), total, func(e *Exports) float64 { return float64(e.Failures) }},
	{exportLag.desc(), level, func(e *Exports) float64 { return e.Lag.Seconds() }},
}

// backupGauges are reported once a backup was sent.
var backupGauges = []gauge[Backups]{
	{backupLast.desc(), level, func(b *Backups) float64 { return float64(b.Last.Unix()) }},
}

func (b *Backups) collect(to chan<- prometheus.Metric) {
	to <- counter(backupsDesc, b.Sent, "sent")
	to <- counter(backupsDesc, b.Failed, "failed")
	if !b.Last.IsZero() {
		report(to, backupGauges, b)
	}
}

// archiveGauges are reported once a part of the log was sent.
var archiveGauges = []gauge[Archive]{
	{logSegmentLast.desc(), level, func(a *Archive) float64 { return float64(a.Last.Unix()) }},
}

func (a *Archive) collect(to chan<- prometheus.Metric) {
	to <- counter(logSegmentsDesc, a.Sent, "sent")
	to <- counter(logSegmentsDesc, a.Failed, "failed")
	to <- counter(logSegmentsDesc, a.Gaps, "gap")
	if !a.Last.IsZero() {
		report(to, archiveGauges, a)
	}
}

// sinkGauges are reported where sinks are configured.
var sinkGauges = []gauge[Sink]{
	{sinkSent.desc(), total, func(s *Sink) float64 { return float64(s.Sent) }},
	{sinkFailures.desc(), total, func(s *Sink) float64 { return float64(s.Failures) }},
	{sinkLines.desc(), level, func(s *Sink) float64 { return float64(s.Lines) }},
	{sinkLag.desc(), level, func(s *Sink) float64 { return s.Lag.Seconds() }},
}

var backgroundGauges = []gauge[Background]{
	{backgroundRunning.desc(), level, func(b *Background) float64 { return float64(b.Running) }},
	{backgroundWaiting.desc(), level, func(b *Background) float64 { return float64(b.Waiting) }},
	{backgroundRefused.desc(), total, func(b *Background) float64 { return float64(b.Refused) }},
	{backgroundCPU.desc(), total, func(b *Background) float64 { return b.CPU.Seconds() }},
}

var (
	proposeDesc  = raftPropose.desc()
	mailsDesc    = mailsTotal.desc()
	mailsNewDesc = mailsQueued.desc()
	backupsDesc  = backupsTotal.desc()

	logSegmentsDesc = logSegmentsTotal.desc()
)

var databaseGauges = []gauge[Database]{
	{pebbleDisk.desc(), level, func(d *Database) float64 { return float64(d.DiskBytes) }},
	{pebbleWAL.desc(), total, func(d *Database) float64 { return float64(d.WALBytes) }},
	{pebbleMemtable.desc(), level, func(d *Database) float64 { return float64(d.MemtableBytes) }},
	{pebbleL0.desc(), level, func(d *Database) float64 { return float64(d.L0Files) }},
	{pebbleReadAmp.desc(), level, func(d *Database) float64 { return float64(d.ReadAmplification) }},
	{pebbleCompactions.desc(), total, func(d *Database) float64 { return float64(d.Compactions) }},
	{pebbleFlushes.desc(), total, func(d *Database) float64 { return float64(d.Flushes) }},
	{pebbleSublevels.desc(), level, func(d *Database) float64 { return float64(d.L0Sublevels) }},
	{pebbleStalls.desc(), total, func(d *Database) float64 { return float64(d.WriteStalls) }},
	{pebbleErrors.desc(), total, func(d *Database) float64 { return float64(d.BackgroundErrors) }},
}

var nodeGauges = []gauge[Node]{
	{proposeBatches.desc(), total, func(n *Node) float64 { return float64(n.Proposals.Batches) }},
	{proposeCommands.desc(), total, func(n *Node) float64 { return float64(n.Proposals.Commands) }},
	{proposeBytes.desc(), total, func(n *Node) float64 { return float64(n.Proposals.Bytes) }},
	{fsyncsTotal.desc(), total, func(n *Node) float64 { return float64(n.Proposals.Fsyncs) }},
	{fsyncSeconds.desc(), total, func(n *Node) float64 { return n.Proposals.FsyncTime.Seconds() }},
	{diskStalls.desc(), total, func(n *Node) float64 { return float64(n.Proposals.DiskStalls) }},
	{pebbleCacheHits.desc(), total, func(n *Node) float64 { return float64(n.Cache.Hits) }},
	{pebbleCacheMisses.desc(), total, func(n *Node) float64 { return float64(n.Cache.Misses) }},
	{pebbleCacheBytes.desc(), level, func(n *Node) float64 { return float64(n.Cache.Bytes) }},
	{pebbleCacheMax.desc(), level, func(n *Node) float64 { return float64(n.Cache.BytesMax) }},
	{peerConns.desc(), level, func(n *Node) float64 { return float64(n.Peers.Conns) }},
	{forwarded.desc(), total, func(n *Node) float64 { return float64(n.Peers.Forwarded) }},
	{forwardLost.desc(), total, func(n *Node) float64 { return float64(n.Peers.ForwardLost) }},
	{rebuilt.desc(), total, func(n *Node) float64 { return float64(n.Rebuilt) }},
	{reaped.desc(), total, func(n *Node) float64 { return float64(n.Reaped) }},
	{stateChecks.desc(), total, func(n *Node) float64 { return float64(n.StateChecks) }},
	{stateMismatches.desc(), total, func(n *Node) float64 { return float64(n.StateMismatches) }},
	{oldestCall.desc(), level, func(n *Node) float64 { return n.OldestCall.Seconds() }},
	{clockOffset.desc(), level, func(n *Node) float64 { return n.ClockOffset.Seconds() }},
	{clockWrong.desc(), level, func(n *Node) float64 { return flag(n.ClockWrong) }},
	{nodeReady.desc(), level, func(n *Node) float64 { return flag(n.Ready) }},
	{auditWaiting.desc(), level, func(n *Node) float64 { return float64(n.AuditWaiting) }},
	{turnsWaiting.desc(), level, func(n *Node) float64 { return float64(n.Turns.Waiting) }},
	{turnsCPU.desc(), total, func(n *Node) float64 { return n.Turns.CPU.Seconds() }},
	{slotsRefused.desc(), total, func(n *Node) float64 { return float64(n.Turns.Refused) }},
	{memoryLimit.desc(), level, func(n *Node) float64 { return float64(n.Memory.Limit) }},
	{bodyBytes.desc(), level, func(n *Node) float64 { return float64(n.Memory.Bodies) }},
	{bodyBytesMax.desc(), level, func(n *Node) float64 { return float64(n.Memory.BodiesMax) }},
	{bodyRefusals.desc(), total, func(n *Node) float64 { return float64(n.Memory.BodyRefusals) }},
	{pacingTicks.desc(), total, func(n *Node) float64 { return float64(n.Pacing.Ticks) }},
	{pacingSeconds.desc(), total, func(n *Node) float64 { return n.Pacing.TickTime.Seconds() }},
	{pacingCampaigns.desc(), level, func(n *Node) float64 { return float64(n.Pacing.Campaigns) }},
	{pacingByReturn.desc(), level, func(n *Node) float64 { return float64(n.Pacing.ByReturn) }},
	{pacingChanges.desc(), total, func(n *Node) float64 { return float64(n.Pacing.Changes) }},
	{pacingUnproposed.desc(), total, func(n *Node) float64 { return float64(n.Pacing.Unproposed) }},
	{pacingSent.desc(), total, func(n *Node) float64 { return float64(n.Pacing.ReportsSent) }},
	{pacingFailed.desc(), total, func(n *Node) float64 { return float64(n.Pacing.ReportsFailed) }},
	{pacingRefused.desc(), total, func(n *Node) float64 { return float64(n.Pacing.ReportsRefused) }},
	{pacingLate.desc(), total, func(n *Node) float64 { return float64(n.Pacing.ReportsLate) }},
	{countsProposed.desc(), total, func(n *Node) float64 { return float64(n.AuctionCounts.Proposed) }},
	{countsFailed.desc(), total, func(n *Node) float64 { return float64(n.AuctionCounts.Failed) }},
	{countsDropped.desc(), total, func(n *Node) float64 { return float64(n.AuctionCounts.Dropped) }},
	{countsWeight.desc(), level, func(n *Node) float64 { return float64(n.AuctionCounts.Weight) }},
	{pacingDeferred.desc(), total, func(n *Node) float64 { return float64(n.Pacing.Deferred) }},
	{pacingHours.desc(), total, func(n *Node) float64 { return float64(n.Pacing.Hours) }},
	{viewVersion.desc(), level, func(n *Node) float64 { return float64(n.Market.Version) }},
}

var listenerGauges = []gauge[Listener]{
	{connectionsOpen.desc(), level, func(l *Listener) float64 { return float64(l.Open) }},
	{connectionsMax.desc(), level, func(l *Listener) float64 { return float64(l.Max) }},
	{acceptFailures.desc(), total, func(l *Listener) float64 { return float64(l.AcceptFailures) }},
	{connectionsRefused.desc(), total, func(l *Listener) float64 { return float64(l.Refused) }},
	{handshakeFailures.desc(), total, func(l *Listener) float64 { return float64(l.HandshakeFailures) }},
}

var certificateGauges = []gauge[Certificate]{
	{certificateEnd.desc(), level, func(c *Certificate) float64 { return float64(c.NotAfter.Unix()) }},
}

var closedDesc = connectionsClosed.desc()

func (l *Listener) collect(to chan<- prometheus.Metric) {
	report(to, listenerGauges, l, l.Name)
	to <- counter(closedDesc, l.ClosedKeyless, l.Name, "keyless")
	to <- counter(closedDesc, l.ClosedKeyed, l.Name, "keyed")
}

var rejectGauges = []gauge[Reject]{
	{peerRejects.desc(), total, func(r *Reject) float64 { return float64(r.N) }},
}

var diskGauges = []gauge[Disk]{
	{diskFree.desc(), level, func(d *Disk) float64 { return float64(d.Free) }},
	{diskReserve.desc(), level, func(d *Disk) float64 { return float64(d.Reserve) }},
	{diskLow.desc(), level, func(d *Disk) float64 { return flag(d.Low) }},
}

// Describe sends the descriptions of all metrics of the node.
func (c *nodeCollector) Describe(to chan<- *prometheus.Desc) {
	describe(to, groupGauges)
	describe(to, oldestGauges)
	describe(to, peerGauges)
	describe(to, contactGauges)
	describe(to, databaseGauges)
	describe(to, nodeGauges)
	describe(to, rejectGauges)
	describe(to, diskGauges)
	describe(to, transitGauges)
	describe(to, backupGauges)
	describe(to, archiveGauges)
	describe(to, exportGauges)
	describe(to, sinkGauges)
	describe(to, listenerGauges)
	describe(to, certificateGauges)
	describe(to, backgroundGauges)
	for _, d := range []*prometheus.Desc{closedDesc, proposeDesc, mailsDesc, mailsNewDesc, backupsDesc, logSegmentsDesc} {
		to <- d
	}
}

func describe[T any](to chan<- *prometheus.Desc, gauges []gauge[T]) {
	for i := range gauges {
		to <- gauges[i].desc
	}
}

// Collect reads the node's state once and reports all of its metrics.
func (c *nodeCollector) Collect(to chan<- prometheus.Metric) {
	read := c.node.Load()
	if read == nil {
		return
	}
	n := (*read)()
	for i := range n.Groups {
		n.Groups[i].collect(to)
	}
	for i := range n.Databases {
		report(to, databaseGauges, &n.Databases[i], n.Databases[i].Name)
	}
	for i := range n.Peers.Rejects {
		report(to, rejectGauges, &n.Peers.Rejects[i], n.Peers.Rejects[i].Why)
	}
	for i := range n.Listeners {
		n.Listeners[i].collect(to)
	}
	for i := range n.Certificates {
		report(to, certificateGauges, &n.Certificates[i], n.Certificates[i].Listener)
	}
	if n.Disk.Watched {
		report(to, diskGauges, &n.Disk)
	}
	for i := range n.Transit {
		report(to, transitGauges, &n.Transit[i], strconv.Itoa(int(n.Transit[i].Marketplace)))
	}
	for i := range n.Background {
		report(to, backgroundGauges, &n.Background[i], n.Background[i].Kind)
	}
	n.Backups.collect(to)
	n.Archive.collect(to)
	if n.Exports != nil {
		report(to, exportGauges, n.Exports)
	}
	for i := range n.Sinks {
		report(to, sinkGauges, &n.Sinks[i], n.Sinks[i].Name)
	}
	if n.Mails != nil {
		n.Mails.collect(to)
	}
	report(to, nodeGauges, &n)
}

func (g *Group) collect(to chan<- prometheus.Metric) {
	id := strconv.Itoa(int(g.ID))
	report(to, groupGauges, g, id)
	if g.OldestEntry > 0 {
		report(to, oldestGauges, g, id)
	}
	to <- prometheus.MustNewConstHistogram(proposeDesc, g.Propose.Count, g.Propose.Sum.Seconds(), g.Propose.Cumulative, id)
	for i := range g.Peers {
		p := &g.Peers[i]
		report(to, peerGauges, p, id, p.Node)
		if p.Contact >= 0 {
			report(to, contactGauges, p, id, p.Node)
		}
	}
}

func (m *Mails) collect(to chan<- prometheus.Metric) {
	to <- counter(mailsNewDesc, m.Queued)
	results := map[string]uint64{"sent": m.Sent, "retried": m.Retried, "failed": m.Failed}
	for _, result := range slices.Sorted(maps.Keys(results)) {
		to <- counter(mailsDesc, results[result], result)
	}
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
