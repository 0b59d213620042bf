package daemon

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/gavel-ads/gavel/node/hotpath"
	"github.com/gavel-ads/gavel/node/ingress"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/metrics"
	"github.com/gavel-ads/gavel/node/operator"
)

// BOUND: requests that wait until this node has applied what an X-Gavel-Token stands for. Each holds a goroutine and a
// connection for up to some seconds. A token is neither secret nor a right, so a client can invent one that waits in
// vain; it must not make other requests wait.
const (
	tokenWaitsMax       = 256
	tokenWaitsTenantMax = 64
)

// resources are the limits of the process, and the budgets that requests share.
type resources struct {
	shares     limits.Shares
	memory     int64
	heapChosen bool // GOMEMLIMIT is set.
	bodies     *limits.Bytes
	tokenWaits *limits.Bytes // Counts requests.
	auction    atomic.Pointer[hotpath.Server]
	slots      *limits.Slots // Of the management listener.
	management atomic.Pointer[ingress.Listener]
}

// deriveLimits reads what the process may use and derives the limits of each part. It runs before everything else,
// because the store needs its number of open files.
func (n *node) deriveLimits(context.Context) error {
	useThreads()
	operator.SampleContention()
	memory, chosen := int64(n.cfg.Memory.Limit), os.Getenv("GOMEMLIMIT") != ""
	if memory == 0 {
		if memory = limits.DefaultMemory("/"); chosen { // A negative argument reads the limit without changing it.
			memory = min(memory, debug.SetMemoryLimit(-1)) // A negative limit only reads it.
		}
	}
	files := limits.Files()
	s := limits.Derive(limits.Machine{Files: files, Memory: memory, Peers: n.cfg.Clustered()}, limits.Settings{
		Auction: n.cfg.Auction.ConnectionsMax, Management: n.cfg.Management.ConnectionsMax, Peer: n.cfg.Peer.ConnectionsMax,
	})
	if !chosen {
		debug.SetMemoryLimit(s.Heap)
	}
	r := &n.resources
	r.shares, r.memory, r.heapChosen, r.bodies = s, memory, chosen, limits.NewBytes(s.Bodies, s.PerMarketplace)
	r.slots = limits.NewSlots(s.ManageConns)
	r.tokenWaits = limits.NewBytes(tokenWaitsMax, tokenWaitsTenantMax)
	log := n.log.Info
	if s.FilesLow {
		log = n.log.Warn
	}
	log("resource_limits_derived", slog.Uint64("open_files", files), slog.Bool("open_files_low", s.FilesLow), slog.Int("database_files", s.DatabaseFiles),
		slog.Int("auction_connections", s.AuctionConns), slog.Int("management_connections", s.ManageConns), slog.Int("peer_connections", s.PeerConns),
		slog.Int64("memory_limit", memory), slog.Int64("heap_limit", debug.SetMemoryLimit(-1)), slog.Int64("body_bytes", s.Bodies),
		slog.Int64("cache_bytes", s.Cache))
	return nil
}

// scrapeResources reads the counters of the limits for the metrics.
func (n *node) scrapeResources(out *metrics.Node) {
	bodies := n.resources.bodies.Stats()
	out.Memory = metrics.Memory{Limit: n.resources.memory, Bodies: bodies.Used, BodiesMax: bodies.Max, BodyRefusals: bodies.Refusals}
	if l := n.resources.auction.Load(); l != nil {
		out.Listeners = append(out.Listeners, listenerMetrics("auction", l.Connections()))
	}
	if l := n.resources.management.Load(); l != nil {
		out.Listeners = append(out.Listeners, listenerMetrics("management", l.Stats()))
	}
}

func listenerMetrics(name string, s ingress.ListenerStats) metrics.Listener {
	return metrics.Listener{
		Name: name, Open: s.Open, Max: s.Max, AcceptFailures: s.AcceptFailures, Refused: s.Refused,
		ClosedKeyless: s.ClosedKeyless, ClosedKeyed: s.ClosedKeyed, HandshakeFailures: s.HandshakeFailures,
	}
}
