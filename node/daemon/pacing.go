package daemon

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/pacer"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

// newPacer returns the pacing controllers of this node, not started: the state machines feed them from their first load on.
func (n *node) newPacer(m *market.Market) *pacer.Pacer {
	return pacer.New(pacer.Config{
		Market: m, Node: n.cfg.NodeID, Number: nodeNumber(n.cfg.NodeID), ReportBytesMax: raftstore.ReportBytesMax, Now: time.Now, Zone: n.zones().location, Log: n.log,
	})
}

// startPacing starts the reports to the leaders and the controllers of the groups that this node leads.
func (n *node) startPacing(ctx context.Context) {
	n.publisher.pacer.Start(context.WithoutCancel(ctx), n.cluster, pacerPeers{n}, n.raft.Epoch())
	n.push("pacing", func(context.Context) error { n.publisher.pacer.Close(); return nil })
}

// pacerPeers gives the pacing controllers access to the other members.
type pacerPeers struct{ *node }

// Leader returns the node that leads a group.
func (o pacerPeers) Leader(g ids.Group) string { return o.raft.Group(uint16(g)).Leader() }

// Members returns the number of nodes.
func (o pacerPeers) Members() int { return len(o.raft.Cluster().Nodes) }

// Send sends a report over the peer port.
func (o pacerPeers) Send(ctx context.Context, node string, report []byte) error {
	return o.raft.SendReport(ctx, node, report)
}

// pacingMetrics reads what the pacing controllers have done.
func (n *node) pacingMetrics() metrics.Pacing {
	s := n.publisher.pacer.Stats()
	return metrics.Pacing{
		Ticks: s.Ticks, Changes: s.Changes, Unproposed: s.Unproposed, TickTime: s.TickTime, Campaigns: s.Campaigns, ByReturn: s.ByReturn,
		ReportsSent: s.ReportsSent, ReportsFailed: s.ReportsFailed, ReportsRefused: s.ReportsRefused, ReportsLate: s.ReportsLate,
		Deferred: s.Deferred, Hours: s.Hours,
	}
}

// overdelivered returns what a group's budgets and wallets could not pay, as far as this node has applied it.
func (n *node) overdelivered(group uint16) int64 {
	m, ok := n.machines.Load(group)
	if !ok {
		return 0
	}
	return m.(*shard.Machine).Overdelivered() //nolint:forcetypeassert // Nothing else is stored.
}
