package pacer

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// fleet is a virtual cluster in a synctest bubble with one campaign: real stores, state machines, markets and Pacers.
// Auctions are modelled: a node wins with its campaign in proportion to its load and to the square of the factor that the
// pacing word asks for, and every win is charged in full some seconds later.
type fleet struct {
	t       *testing.T
	c       *raftstoretest.Cluster
	members []*member
	fleetConfig
	events atomic.Uint64
	other  sync.WaitGroup // Commands on their way.
	done   chan struct{}
}

// fleetConfig says how a fleet is made.
type fleetConfig struct {
	params pacing.Params
	exact  bool // Pacers replicate every change.
	period model.Period
	budget money.Micros
	// begin is the time at which the clock of the nodes starts; without, that of the bubble.
	begin time.Time
	shift time.Duration // Of the nodes' clock against that of the bubble.
	// spread says that charges come as late as params say, instead of after 3 s.
	spread bool
}

// now returns the time on the clocks of the nodes.
func (f *fleet) now() time.Time { return time.Now().Add(f.shift) }

// member is one node of the fleet over all runs of its process.
type member struct {
	f      *fleet
	i      int
	load   atomic.Int64 // Auctions a second that the campaign would win at its full bid.
	wins   float64      // Fraction of a win so far.
	won    atomic.Int64 // Micros, in this run of the process.
	paused atomic.Bool
	run    atomic.Pointer[run] // Nil while the process does not run.
	next   *run                // The run that is being started.
}

// pause stops or resumes the auctions of a node.
func (m *member) pause(paused bool) { m.paused.Store(paused) }

// run is one run of a process.
type run struct {
	*market.Market
	pacer   *Pacer
	ages    *cluster.ReplicaAges
	cluster *cluster.Cluster
	store   *raftstore.Store
	slot    atomic.Pointer[market.Balances]
}

const (
	fleetMarket = 1
	fleetCost   = 1_000 // Expected cost and price of a win, in micros.
	// auctionsPerWin is the number of auctions for each that the campaign would win at its full bid.
	auctionsPerWin = 100
	// roundInterval is the time between two rounds of auctions of a node.
	roundInterval = 100 * time.Millisecond
)

var fleetCampaign = ids.UUID{0: 1, 15: byte(ids.ShardOf(ids.AccountOf(fleetMarket, "v")))}

func (r *run) PutRecord(command.RecordKind, uint16, string, []byte) {}
func (r *run) PutSecrets(*command.Secrets)                          {}
func (r *run) PutPeriods(g ids.Group, p *command.Periods)           { r.pacer.PutPeriods(g, p) }
func (r *run) PutCounted(g ids.Group, x *command.CountedReport)     { r.pacer.PutCounted(g, x) }
func (r *run) Reset(g ids.Group, meta bool)                         { r.Market.Reset(g, meta); r.pacer.Reset(g) }

func (r *run) Leader(g ids.Group) string { return r.store.Group(uint16(g)).Leader() }

func (r *run) Members() int { return len(r.store.Cluster().Nodes) }

func (r *run) Send(ctx context.Context, node string, b []byte) error {
	return r.store.SendReport(ctx, node, b)
}

func (r *run) PutCampaign(c *model.Campaign) *market.Balances {
	b := r.Market.PutCampaign(c)
	r.pacer.PutCampaign(c, b)
	r.slot.Store(b)
	return b
}

// newFleet starts a node for each load, and creates a campaign.
func newFleet(t *testing.T, config fleetConfig, loads ...int64) *fleet {
	t.Helper()
	f := &fleet{t: t, c: raftstoretest.NewCluster(t, 5, len(loads)), fleetConfig: config, done: make(chan struct{})}
	if !f.begin.IsZero() {
		f.shift = time.Until(f.begin)
	}
	for i, load := range loads {
		f.members = append(f.members, &member{f: f, i: i})
		f.members[i].load.Store(load)
	}
	f.c.Configure = f.configure
	var starts sync.WaitGroup
	for i := range loads {
		starts.Go(func() { f.start(i) })
	}
	starts.Wait()
	for _, cmd := range fleetCommands(f.now(), time.UTC, &model.Campaign{Budget: f.budget, Period: f.period}) {
		f.propose(cmd)
	}
	for _, m := range f.members {
		go m.serve()
	}
	return f
}

// fleetCommands returns the commands that make the marketplace and the campaign of a fleet, with some of its members.
func fleetCommands(at time.Time, zone *time.Location, c *model.Campaign) [][]byte {
	now := at.UnixMilli()
	c.ID, c.Marketplace, c.VendorID, c.Name, c.Active = fleetCampaign, fleetMarket, "v", "n", true
	c.Status, c.Charge = model.Approved, model.CPM
	return [][]byte{
		command.AppendBootstrap(nil, now, &command.Bootstrap{
			Marketplace: model.Marketplace{Ordinal: fleetMarket, ID: ids.UUID{1}, Name: "m", CurrencyCode: "USD", TimeZone: zone.String()},
		}),
		command.AppendSetFeature(nil, now, command.SetFeature{Level: command.LevelNewest}),
		command.AppendAdjustWallet(nil, now, &command.AdjustWallet{Request: ids.UUID{1}, Marketplace: fleetMarket, VendorID: "v", Amount: 1 << 50}),
		command.AppendCreateCampaign(nil, now, &command.CreateCampaign{Campaign: *c}),
	}
}

func (f *fleet) configure(i int, c *raftstore.Config) {
	r := &run{Market: market.New(uint64(i)), ages: cluster.NewReplicaAges(ids.Topology{DataGroups: 1}, 3*time.Second, f.now)}
	r.pacer = New(Config{
		Market: r.Market, Node: c.NodeID, Number: uint16(i), ReportBytesMax: raftstore.ReportBytesMax, Now: f.now, Zone: func(uint16) *time.Location { return time.UTC },
		Params: &f.params, Log: slog.New(slog.DiscardHandler),
	})
	r.pacer.everyChange = f.exact
	f.members[i].next = r
	c.Machine = func(g uint16) raftstore.StateMachine {
		return r.ages.Machine(ids.Group(g), shard.New(ids.Group(g), true, r))
	}
	c.Noop = command.AppendNoop(nil, 0)
	c.Report = func(_ context.Context, _ string, report []byte) error { return r.pacer.Receive(report) }
	c.CommitTimeout = 250 * time.Millisecond
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 20*time.Second, 200, 100
}

// start starts a node and waits until it takes commands.
func (f *fleet) start(i int) {
	m := f.members[i]
	if !f.c.Start(i, f.c.Seeds(len(f.members))) {
		f.t.Errorf("node %d does not start", i)
		return
	}
	r := m.next
	r.store, _ = f.c.Store(i)
	r.cluster = cluster.New(r.store, cluster.Options{
		Topology: ids.Topology{DataGroups: 1}, Node: f.c.Nodes[i].ID, ReplicaAges: r.ages, Now: f.now, Log: slog.New(slog.DiscardHandler),
		Periods: func(at time.Time) []command.Periods {
			return []command.Periods{cluster.PeriodsAt(fleetMarket, at, time.UTC)}
		},
		Levels: cluster.Levels{Reached: func(g ids.Group) (level command.Level, err error) {
			err = r.store.Group(uint16(g)).Read(func(state raftstore.Reader) error {
				level = shard.Queries{R: state}.FeatureLevel()
				return nil
			})
			return level, err
		}},
	})
	if err := r.cluster.WaitReady(f.t.Context()); err != nil {
		f.t.Error(err)
	}
	r.cluster.Start(context.Background())
	r.pacer.Start(context.Background(), r.cluster, r, r.store.Epoch())
	m.won.Store(0)
	m.run.Store(r)
}

// kill ends the process of a node, as a power failure does.
func (f *fleet) kill(i int) {
	r := f.members[i].run.Swap(nil)
	f.c.Crash(i)
	r.pacer.Close()
	r.cluster.Close()
}

// stop ends the fleet.
func (f *fleet) stop() {
	close(f.done)
	f.other.Wait()
	for i, m := range f.members {
		if r := m.run.Swap(nil); r != nil {
			r.pacer.Close()
			r.cluster.Close()
			f.c.Stop(i)
		}
	}
	f.c.Wait()
	time.Sleep(time.Minute) // For the last timers.
	synctest.Wait()
}

// propose commits a command, through whichever node can.
func (f *fleet) propose(cmd []byte) {
	for {
		for _, m := range f.members {
			r := m.run.Load()
			if r == nil {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			_, err := r.cluster.Propose(ctx, 1, cmd)
			cancel()
			if err == nil {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// serve runs the auctions of a node in rounds until the fleet stops.
func (m *member) serve() {
	for round := 0; ; round++ {
		select {
		case <-m.f.done:
			return
		case <-time.After(roundInterval):
		}
		r := m.run.Load()
		if r == nil || m.paused.Load() || r.slot.Load() == nil || r.View().Marketplace(fleetMarket) == nil {
			continue
		}
		m.round(r)
	}
}

func (m *member) round(r *run) {
	b, v := r.slot.Load(), r.View()
	seconds := roundInterval.Seconds()
	v.CountAuctions(fleetMarket, model.Listing, 0, uint64(float64(m.load.Load()*auctionsPerWin)*seconds))
	var stale auction.Groups
	pass, factor := pacing.Split(b.Pacing.Load())
	if r.ages.Stale(m.f.now(), &stale) {
		return
	}
	n := 0
	for m.wins += float64(m.load.Load()) * seconds * pass * factor * factor; m.wins >= 1; m.wins-- {
		free := b.BudgetLeft.Load() - b.Hold.Load() - market.Claimed(uint64(v.ServingNodes()), b.Pending())
		if free <= 0 {
			continue
		}
		v.AddWin(1, fleetCost)
		m.won.Add(fleetCost)
		n++
	}
	if n > 0 {
		m.f.charge(n)
	}
}

// charge reports n impressions later.
func (f *fleet) charge(n int) {
	for n > 0 {
		e := command.Events{Marketplace: fleetMarket}
		some := n
		if f.spread {
			some = 1
		}
		for range some {
			x := command.EventRecord{Kind: event.Impression, Charge: model.CPM, Campaign: 1, Bid: 1, Price: fleetCost}
			binary.LittleEndian.PutUint64(x.Key[:], f.events.Add(1))
			x.ChargeKey = x.Key
			e.Records = append(e.Records, x)
		}
		n -= some
		delay := f.delay()
		f.other.Go(func() {
			time.Sleep(delay)
			now := f.now().UnixMilli()
			for i := range e.Records {
				x := &e.Records[i]
				x.OccurredMillis, x.Bucket, x.Cell = now, event.BucketOf(now), event.BucketOf(now)*4
			}
			f.propose(command.AppendEvents(nil, now, &e))
		})
	}
}

// delay returns the time from the newest win to its charge: 3 s or, spread, the times at which most clicks and the late
// ones come, evenly over their two exponential distributions.
func (f *fleet) delay() time.Duration {
	if !f.spread {
		return 3 * time.Second
	}
	n := f.events.Load()
	mean := f.params.ImpressionDelay / (1 - f.params.SlowShare + f.params.SlowShare*f.params.SlowFactor)
	if n%10 == 0 {
		mean *= f.params.SlowFactor
	}
	_, u := math.Modf(float64(n) * math.Phi)
	return time.Duration(-mean * math.Log(1-u) * float64(time.Second))
}

// leader returns the node that leads, after waiting for one.
func (f *fleet) leader() int {
	for {
		for i, m := range f.members {
			if r := m.run.Load(); r != nil && r.cluster.Leads(1) {
				return i
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// state returns the campaign as a node has applied it.
func (f *fleet) state(i int) (c shard.CampaignState, paced command.Paced) {
	err := f.members[i].run.Load().cluster.Read(1, func(r raftstore.Reader) error {
		q := shard.Queries{R: r}
		c, _ = q.CampaignByOrdinal(1)
		paced, _ = q.Paced(1)
		return nil
	})
	if err != nil {
		f.t.Error(err)
	}
	return c, paced
}
