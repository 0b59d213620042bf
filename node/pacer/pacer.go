// Package pacer runs the pacing controllers of the campaigns. Once a second every node reports what it has served to the
// leaders of the groups, and each leader lets the controllers (shard/pacing) of its group's campaigns decide with the exact
// sums over all nodes, and replicates the decisions that changed enough. DESIGN.md has the reasons and the bounds.
package pacer

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// interval is the time between two reports of a node, and between two ticks of a leader.
const interval = time.Second

// Groups are the Raft groups of this node; package cluster implements it.
type Groups interface {
	Groups() []ids.Group
	Meta() ids.Group // The one that learns the traffic; it may be one of the data groups.
	Leads(g ids.Group) bool
	Level(g ids.Group) command.Level
	Propose(ctx context.Context, g ids.Group, cmd []byte) ([]byte, error)
	Read(g ids.Group, fn func(shard.Reader) error) error
}

// Peers are the other nodes of the cluster.
type Peers interface {
	// Leader returns the id of the node that leads a group, empty when it is not known.
	Leader(g ids.Group) string
	// Members returns how many nodes the cluster has, this one included.
	Members() int
	// Send gives a report to the Pacer of another node (Receive). An error means that it is not known whether it was taken.
	Send(ctx context.Context, node string, report []byte) error
}

// Config is what a Pacer needs. All fields are required, except that the constants are those of pacing.Defaults without
// Params.
type Config struct {
	Market *market.Market
	Node   string // Id of this node.
	Number uint16 // The node's number, as in resolvedBidIds.
	// ReportBytesMax is the most bytes that Peers.Send takes.
	ReportBytesMax int
	Now            func() time.Time
	Zone           func(marketplace uint16) *time.Location
	// Params are the constants of the controllers; their click delay counts until a marketplace has learned its own.
	Params *pacing.Params
	Log    *slog.Logger
}

// Pacer reports what this node serves and steers the campaigns of the groups that it leads. The state machines feed it
// with PutCampaign, PutPeriods, PutCounted and Reset, other nodes with Receive. It is safe for concurrent use.
type Pacer struct {
	c         Config
	groups    Groups // Start sets these three.
	peers     Peers
	start     uint32
	campaigns campaigns
	reporter  reporter
	hours     hourCounts
	traffic   trafficProposer
	leaders   atomic.Pointer[map[ids.Group]*leader] // Nil before Start.
	stats     stats
	// everyChange replicates every difference, so that tests can compare sums exactly at any time.
	everyChange bool
	stop        context.CancelFunc
	running     sync.WaitGroup
}

// New returns a Pacer that is not started: it can be fed, and refuses reports.
func New(c Config) *Pacer {
	if c.Params == nil {
		defaults := pacing.Defaults()
		c.Params = &defaults
	}
	p := &Pacer{c: c, stop: func() {}}
	p.campaigns.groups = map[ids.Group]*groupCampaigns{}
	p.reporter = newReporter(p)
	p.traffic.p = p
	return p
}

// Start starts reporting and steering. start is the number of this start of the node, as in resolvedBidIds.
func (p *Pacer) Start(ctx context.Context, groups Groups, peers Peers, start uint32) {
	ctx, p.stop = context.WithCancel(ctx)
	p.groups, p.peers, p.start = groups, peers, start
	leaders := map[ids.Group]*leader{}
	for _, g := range groups.Groups() {
		l := &leader{p: p, group: g, due: make(chan struct{}, 1)}
		leaders[g] = l
		p.running.Go(func() { l.run(ctx) })
	}
	p.leaders.Store(&leaders)
	p.hours.start(p.c.Now().Unix(), p.c.Zone)
	p.running.Go(func() { p.traffic.run(ctx) })
	p.running.Go(func() { p.run(ctx) })
}

// leader returns what steers a group, nil before Start and for an unknown group.
func (p *Pacer) leader(g ids.Group) *leader {
	leaders := p.leaders.Load()
	if leaders == nil {
		return nil
	}
	return (*leaders)[g]
}

// Close stops what Start started, and waits for it.
func (p *Pacer) Close() {
	p.stop()
	p.running.Wait()
}

// run reports once a second and then starts the ticks of the groups.
func (p *Pacer) run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p.once(ctx)
	}
}

// once sends one report to each leader and starts a tick of each group, unless the last one still waits for its commit.
func (p *Pacer) once(ctx context.Context) {
	p.reporter.countTraffic()
	if !p.paces() {
		return
	}
	p.c.Market.SetServingNodes(uint32(max(1, p.peers.Members()))) // A handful.
	p.reporter.report(ctx)
	for _, l := range *p.leaders.Load() {
		select {
		case l.due <- struct{}{}:
		default:
		}
	}
}

// paces reports whether a group has reached the feature level of pacing.
func (p *Pacer) paces() bool {
	return slices.ContainsFunc(p.groups.Groups(), p.pacesGroup)
}

// pacesGroup reports whether a group has campaigns and the feature level of pacing.
func (p *Pacer) pacesGroup(g ids.Group) bool {
	return g != 0 && p.groups.Level(g) >= command.LevelPacing
}
