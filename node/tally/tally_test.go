package tally

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

const (
	tenant    = 1
	campaigns = 3
)

// oneGroup is group 1, which loses proposals and answers.
type oneGroup struct {
	mu      sync.Mutex
	r       *shardtest.Replica
	random  *rand.Rand
	faults  int    // In how many of 10 proposals something fails.
	delayed []byte // A command that was proposed and is applied later.
}

var errLost = errors.New("lost")

func (g *oneGroup) Groups() []ids.Group { return []ids.Group{1} }

func (g *oneGroup) Level(ids.Group) command.Level {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.r.Queries().FeatureLevel()
}

func (g *oneGroup) Propose(_ context.Context, _ ids.Group, cmd []byte) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.random.IntN(10) >= g.faults {
		return g.r.Do(cmd), nil
	}
	switch g.random.IntN(3) {
	case 0:
		g.r.Do(cmd)
	case 1:
		if g.delayed != nil {
			g.r.Do(g.delayed)
		}
		g.delayed = cmd
	}
	return nil, errLost
}

// fail makes something fail in so many of 10 proposals.
func (g *oneGroup) fail(faults int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = faults
}

func (g *oneGroup) counted(t *testing.T, n byte) (cells []shard.CellAuctions) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.r.Queries().CampaignAuctions(campaignOf(n).ID, 0, math.MaxUint32)
}

func campaignOf(n byte) *model.Campaign {
	id := ids.UUID{0: 'c', 1: n}
	id[15] = byte(ids.ShardOf(ids.AccountOf(tenant, "v")))
	return &model.Campaign{
		ID: id, Ordinal: uint32(n), Group: 1, Marketplace: tenant, VendorID: "v", Name: fmt.Sprint(n), Active: true,
		Status: model.Approved, Charge: model.CPC,
	}
}

// newGroup returns a group with campaigns, and a market that serves them.
func newGroup(t *testing.T, level command.Level) (*oneGroup, *market.Market) {
	t.Helper()
	r, err := shardtest.NewReplica(1, true, shardtest.NewKV())
	if err != nil {
		t.Fatal(err)
	}
	m := market.New(1)
	now := time.Now().UnixMilli()
	r.Do(command.AppendSetFeature(nil, now, command.SetFeature{Level: level}))
	for n := byte(1); n <= campaigns; n++ {
		c := campaignOf(n)
		r.Do(command.AppendCreateCampaign(nil, now, &command.CreateCampaign{Campaign: *c}))
		m.PutCampaign(c)
	}
	m.Publish()
	return &oneGroup{r: r, random: rand.New(rand.NewPCG(1, 1))}, m
}

func start(t *testing.T, g *oneGroup, m *market.Market, number uint32, zone *time.Location) *Tally {
	t.Helper()
	return Start(t.Context(), Config{
		Market: m, Groups: g, Node: 7, Start: number, Now: time.Now, Zone: func(uint16) *time.Location { return zone },
		Log: slog.New(slog.DiscardHandler),
	})
}

// Whatever happens to proposals and their answers, each auction is counted once, over starts of the node that end in
// order.
func TestEachAuctionIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m := newGroup(t, command.LevelNewest)
		random := rand.New(rand.NewPCG(2, 2))
		v := m.View()
		rows := map[byte]uint32{}
		for n := byte(1); n <= campaigns; n++ {
			rows[n] = uint32(n) // The first campaigns of a market.
		}
		var want [campaigns + 1]rollup.Auctions
		for number := range uint32(20) {
			g.fail(8)
			x := start(t, g, m, number+1, time.UTC)
			for range random.IntN(400) {
				n := byte(1 + random.IntN(campaigns))
				if random.IntN(3) == 0 {
					v.AddAuctionWon(rows[n])
					want[n].Won++
				} else {
					reason := 1 + random.IntN(market.LossReasonsMax-1)
					v.AddAuctionLost(rows[n], uint8(reason), 2)
					want[n].Lost[0]++
					want[n].Lost[reason] += 2
				}
				time.Sleep(time.Duration(random.IntN(2_000)) * time.Millisecond)
			}
			g.fail(0)
			x.Close()
			if s := x.Stats(); s.Dropped > 0 || s.Proposed == 0 {
				t.Errorf("start %d: %+v", number, s)
			}
			for n := byte(1); n <= campaigns; n++ {
				var got rollup.Auctions
				for _, c := range g.counted(t, n) {
					got.Add(&c.Auctions)
				}
				if got != want[n] {
					t.Fatalf("start %d: campaign %d has %+v, want %+v", number, n, got, want[n])
				}
			}
		}
		if g.delayed == nil {
			t.Error("no command was delayed")
		}
	})
}

// Auctions count in the local hour in which they took place, also those of the last ten seconds of an hour. Hours begin at
// half past in some time zones.
func TestAuctionsCountInTheirHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // A bubble begins at midnight UTC.
		g, m := newGroup(t, command.LevelNewest)
		x := start(t, g, m, 1, time.FixedZone("half", 1800))
		midnight := time.Now()
		v := m.View()
		time.Sleep(30*time.Minute - time.Millisecond)
		v.AddAuctionWon(1)
		time.Sleep(2 * time.Millisecond)
		v.AddAuctionWon(1)
		v.AddAuctionWon(1)
		time.Sleep(20 * time.Second)
		first := uint32(midnight.Add(-30*time.Minute).Unix() / rollup.CellSeconds)
		var got strings.Builder
		for _, c := range g.counted(t, 1) {
			fmt.Fprint(&got, c.Cell-first, ":", c.Won, " ")
		}
		if got.String() != "0:1 4:2 " {
			t.Errorf("won by quarter of an hour: %s", got.String())
		}
		x.Close()
	})
}

// A Tally that is not started reports when it is told to, in the hour that its clock says, and a report that fails is made up
// for by the next one.
func TestReportsOnRequest(t *testing.T) {
	g, m := newGroup(t, command.LevelNewest)
	at := time.Date(2026, 3, 2, 10, 50, 0, 0, time.UTC)
	x := New(Config{
		Market: m, Groups: g, Node: 7, Start: 1, Now: func() time.Time { return at }, Zone: func(uint16) *time.Location { return time.UTC },
		Log: slog.New(slog.DiscardHandler),
	})
	if m.View().LossWeight() != 1 {
		t.Errorf("one of %d losers is counted", m.View().LossWeight())
	}
	m.View().AddAuctionWon(1)
	if err := x.Report(t.Context()); err != nil {
		t.Fatal(err)
	}
	at = at.Add(time.Hour)
	m.View().AddAuctionWon(1)
	g.fail(10)
	if err := x.Report(t.Context()); err == nil {
		t.Error("a report without an answer succeeds")
	}
	at = at.Add(time.Hour)
	m.View().AddAuctionWon(1)
	g.fail(0)
	if err := x.Report(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, c := range g.counted(t, 1) {
		fmt.Fprint(&got, c.Cell*rollup.CellSeconds/3600%24, ":", c.Won, " ")
	}
	if got.String() != "10:1 11:1 12:1 " {
		t.Errorf("won by hour: %s", got.String())
	}
}

// A report is proposed within ten seconds, and nothing when there is nothing to report or the group does not know the
// command yet.
func TestReportsAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m := newGroup(t, command.LevelReports-1)
		x := start(t, g, m, 1, time.UTC)
		m.View().AddAuctionWon(1)
		time.Sleep(11 * time.Second)
		if s := x.Stats(); s.Proposed+s.Failed+s.Dropped > 0 || len(g.counted(t, 1)) > 0 {
			t.Errorf("before the level: %+v", s)
		}
		g.r.Do(command.AppendSetFeature(nil, time.Now().UnixMilli(), command.SetFeature{Level: command.LevelReports}))
		m.View().AddAuctionWon(1)
		time.Sleep(10 * time.Second)
		if got := g.counted(t, 1); len(got) != 1 || got[0].Won != 1 {
			t.Errorf("after the level: %+v", got)
		}
		time.Sleep(time.Minute)
		if s := x.Stats(); s.Proposed != 1 || s.Failed != 0 {
			t.Errorf("idle for a minute: %+v", s)
		}
		x.Close()
	})
}

// All losers are counted up to auctionsPerSecond, and above it about as many as that.
func TestWeightFollowsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m := newGroup(t, command.LevelNewest)
		m.PutMarketplace(&model.Marketplace{Ordinal: tenant, CurrencyCode: "USD"})
		m.Publish()
		if w := m.View().LossWeight(); w != 0 {
			t.Errorf("weight %d before the start", w)
		}
		x := start(t, g, m, 1, time.UTC)
		for _, step := range []struct {
			auctions uint64
			want     uint32
		}{{0, 1}, {auctionsPerSecond, 1}, {auctionsPerSecond + 1, 2}, {100 * auctionsPerSecond, 100}, {7, 1}} {
			time.Sleep(time.Second)
			synctest.Wait()
			m.View().CountAuctions(tenant, model.Listing, 0, step.auctions)
			time.Sleep(time.Second)
			synctest.Wait()
			if w := m.View().LossWeight(); w != step.want || x.Stats().Weight != w {
				t.Errorf("%d auctions a second: weight %d, want %d", step.auctions, w, step.want)
			}
		}
		x.Close()
		if w := m.View().LossWeight(); w != 0 {
			t.Errorf("weight %d after the end", w)
		}
	})
}

// The newest counts are dropped when a group takes none for long, and the others come when it does.
func TestPendingCountsAreBounded(t *testing.T) {
	g, m := newGroup(t, command.LevelNewest)
	x := &Tally{c: Config{Market: m, Groups: g, Now: time.Now, Log: slog.New(slog.DiscardHandler)}}
	r := newReport(x, 1)
	for i := range uint32(pendingMax + 5) {
		r.add(&market.AuctionCounts{Ordinal: i % 2, Won: 1}, i)
	}
	if len(r.pending) != pendingMax || x.Stats().Dropped != 5 {
		t.Errorf("%d pending, %+v", len(r.pending), x.Stats())
	}
	g.fail(0)
	r.send(t.Context())
	if s := x.Stats(); len(r.pending) != 0 || s.Proposed != pendingMax/command.CountAuctionsMax || len(g.counted(t, 1)) != pendingMax/2 {
		t.Errorf("%d pending, %+v, %d cells", len(r.pending), s, len(g.counted(t, 1)))
	}
}
