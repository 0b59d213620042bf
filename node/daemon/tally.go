package daemon

import (
	"context"

	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/tally"
)

// startTally starts the reports of the auctions that campaigns win and lose on this node. It is stopped after the
// listeners, so that it reports everything that they have answered.
func (n *node) startTally(ctx context.Context) {
	n.tally = tally.Start(context.WithoutCancel(ctx), n.tallyConfig())
	n.push("auction counts", func(context.Context) error { n.tally.Close(); return nil })
}

func (n *node) tallyConfig() tally.Config {
	return tally.Config{
		Market: n.publisher.Market, Groups: n.cluster, Node: nodeNumber(n.cfg.NodeID), Start: n.raft.Epoch(), Now: n.now,
		Zone: n.zones().location, Log: n.log,
	}
}

// tallyMetrics reads what was reported.
func (n *node) tallyMetrics() metrics.AuctionCounts {
	if n.tally == nil {
		return metrics.AuctionCounts{}
	}
	s := n.tally.Stats()
	return metrics.AuctionCounts{Proposed: s.Proposed, Failed: s.Failed, Dropped: s.Dropped, Weight: s.Weight}
}
