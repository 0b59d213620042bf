package pacer

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// solo is a node that is alone, with one campaign and without Raft, so that a test can run days: a state machine in memory,
// a market and a Pacer, in steps of soloStep. Auctions are modelled like those of a fleet; a win is charged a step later.
type solo struct {
	t         *testing.T
	run       *run
	pacer     *Pacer
	machine   *shard.Machine
	kv        *shardtest.KV
	zone      *time.Location
	now       time.Time
	load      float64 // Auctions a second that the campaign would win at its full bid.
	wins      float64 // Fraction of a win so far.
	uncharged int
	events    uint64
}

// soloStep is the time between two ticks.
const soloStep = 5 * time.Second

func newSolo(t *testing.T, zone *time.Location, begin time.Time, budget money.Micros, schedule []uint16) *solo {
	t.Helper()
	n := &solo{t: t, kv: shardtest.NewKV(), zone: zone, now: begin}
	n.run = &run{Market: market.New(1)}
	n.pacer = New(Config{
		Market: n.run.Market, Node: "n1", Number: 1, ReportBytesMax: 48_000, Now: func() time.Time { return n.now },
		Zone: func(uint16) *time.Location { return zone }, Log: slog.New(slog.DiscardHandler),
	})
	n.run.pacer = n.pacer
	n.machine = shard.New(1, true, n.run)
	if err := n.machine.Load(n.kv); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range fleetCommands(n.now, zone, &model.Campaign{Budget: budget, Schedule: schedule}) {
		n.apply(cmd)
	}
	n.pacer.groups, n.pacer.peers, n.pacer.start = n, n, 1
	n.pacer.leaders.Store(&map[ids.Group]*leader{1: {p: n.pacer, group: 1}})
	n.pacer.hours.start(n.now.Unix(), n.pacer.c.Zone)
	return n
}

func (n *solo) Groups() []ids.Group           { return []ids.Group{1} }
func (n *solo) Meta() ids.Group               { return 1 }
func (n *solo) Leads(ids.Group) bool          { return true }
func (n *solo) Level(ids.Group) command.Level { return command.LevelNewest }
func (n *solo) Leader(ids.Group) string       { return "n1" }
func (n *solo) Members() int                  { return 1 }
func (n *solo) Send(context.Context, string, []byte) error {
	return errors.New("there is no other node")
}
func (n *solo) Read(_ ids.Group, fn func(shard.Reader) error) error { return fn(n.kv) }

func (n *solo) Propose(_ context.Context, _ ids.Group, cmd []byte) ([]byte, error) {
	return n.apply(cmd), nil
}

// apply applies a command.
func (n *solo) apply(cmd []byte) []byte {
	batch := n.kv.Batch()
	answer := n.machine.Apply(batch, cmd)
	n.machine.Flush(batch)
	batch.Commit()
	n.machine.Committed()
	return answer
}

// teach applies the traffic of two weeks before a time.
func (n *solo) teach(before time.Time) {
	for at := before.Add(-14 * 24 * time.Hour); at.Before(before); {
		h := hourAt(n.zone, at.Unix())
		x := command.Traffic{Marketplace: fleetMarket, Cell: h.cell, Hour: h.hour, Minutes: h.minutes()}
		x.Auctions[model.Listing] = uint64(twoPeaks[int(h.hour)%24] * meanLoad * auctionsPerWin * 3600)
		n.apply(command.AppendTraffic(nil, n.now.UnixMilli(), &x))
		at = time.Unix(h.end, 0)
	}
}

// runUntil runs steps of auctions, charges and ticks until a time.
func (n *solo) runUntil(at time.Time) {
	for n.now.Before(at) {
		n.now = n.now.Add(soloStep)
		n.apply(command.AppendAdvance(nil, n.now.UnixMilli(), &command.Advance{
			Periods: []command.Periods{cluster.PeriodsAt(fleetMarket, n.now, n.zone)},
		}))
		n.charge()
		n.auctions()
		n.pacer.reporter.countTraffic()
		n.pacer.reporter.report(n.t.Context())
		n.pacer.leader(1).tick(n.t.Context())
	}
}

// auctions runs the auctions of a step.
func (n *solo) auctions() {
	v, b := n.run.View(), n.run.slot.Load()
	seconds := soloStep.Seconds()
	v.CountAuctions(fleetMarket, model.Listing, 0, uint64(n.load*auctionsPerWin*seconds))
	c, _ := n.state()
	if len(c.Schedule) > 0 && c.Schedule[hourAt(n.zone, n.now.Unix()).hour] == 0 {
		return
	}
	pass, factor := pacing.Split(b.Pacing.Load())
	for n.wins += n.load * seconds * pass * factor * factor; n.wins >= 1; n.wins-- {
		if b.BudgetLeft.Load()-b.Hold.Load()-market.Claimed(1, b.Pending()) > 0 {
			v.AddWin(1, fleetCost)
			n.uncharged++
		}
	}
}

// charge reports the impressions of the wins of the last step.
func (n *solo) charge() {
	now := n.now.UnixMilli()
	for n.uncharged > 0 {
		e := command.Events{Marketplace: fleetMarket}
		for ; n.uncharged > 0 && len(e.Records) < 50; n.uncharged-- {
			n.events++
			x := command.EventRecord{
				Kind: event.Impression, Charge: model.CPM, Campaign: 1, Bid: 1, Price: fleetCost,
				OccurredMillis: now, Bucket: event.BucketOf(now), Cell: event.BucketOf(now) * 4,
			}
			binary.LittleEndian.PutUint64(x.Key[:], n.events)
			x.ChargeKey = x.Key
			e.Records = append(e.Records, x)
		}
		n.apply(command.AppendEvents(nil, now, &e))
	}
}

// state returns the campaign.
func (n *solo) state() (shard.CampaignState, bool) {
	return shard.Queries{R: n.kv}.CampaignByOrdinal(1)
}

// spent returns what was billed of the budget.
func (n *solo) spent() money.Micros {
	c, _ := n.state()
	return c.Money.Spent
}
