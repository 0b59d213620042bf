package market_test

import (
	"fmt"
	"math"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// rowOf returns the row of the campaign whose balances are at an address.
func rowOf(t testing.TB, v *market.View, b *market.Balances) uint32 {
	for row := range uint32(1 << 20) {
		if v.Balances(row) == b {
			return row
		}
	}
	t.Fatal("no row has the balances")
	return 0
}

// rowsOf puts n campaigns into each of the groups 1 and 2 and returns their rows by group and ordinal.
func rowsOf(t testing.TB, m *market.Market, n int) map[ids.Group][]uint32 {
	rows := map[ids.Group][]uint32{}
	var all []*market.Balances
	for i := range 2 * n {
		all = append(all, m.PutCampaign(campaign(ids.Group(1+i%2), uint32(i/2+1))))
	}
	m.Publish()
	first := rowOf(t, m.View(), all[0])
	for i := range all {
		g := ids.Group(1 + i%2)
		rows[g] = append(rows[g], first+uint32(i))
		if m.View().Balances(first+uint32(i)) != all[i] {
			t.Fatal("campaigns have no consecutive rows")
		}
	}
	return rows
}

// A collection reports the campaigns that have won, with totals, to each group its own. What was reported once is
// reported again to who has not acknowledged it.
func TestSpendingReportsChanges(t *testing.T) {
	m := market.New(1)
	rows := rowsOf(t, m, 700) // More than one chunk.
	s := market.NewSpending(m)
	v := m.View()
	check := func(g ids.Group, after uint64, want ...market.Spent) {
		t.Helper()
		if got := s.AppendChanged(nil, g, after); !reflect.DeepEqual(got, want) {
			t.Errorf("group %d after %d: %v, want %v", g, after, got, want)
		}
	}
	if s.Collect() != 1 {
		t.Error("collections are numbered from 1")
	}
	check(1, 0)

	v.AddWin(rows[1][2], 30)
	v.AddWin(rows[1][2], 40)
	v.AddWin(rows[1][699], 5)
	v.AddWin(rows[2][0], 1)
	check(1, 0)
	s.Collect()
	third, last := market.Spent{Ordinal: 3, Expected: 70, Wins: 2}, market.Spent{Ordinal: 700, Expected: 5, Wins: 1}
	check(1, 1, third, last)
	check(1, 2)
	check(2, 0, market.Spent{Ordinal: 1, Expected: 1, Wins: 1})
	check(3, 0)

	v.AddWin(rows[1][2], 1)
	s.Collect()
	s.Collect()
	third = market.Spent{Ordinal: 3, Expected: 71, Wins: 3}
	check(1, 2, third)
	check(1, 1, third, last)
	check(1, 0, third, last)
	check(1, 3)

	// A group that is reset and fed again has the same totals: they are those of the node.
	m.Reset(1, false)
	m.PutCampaign(campaign(1, 3))
	m.Publish()
	m.View().AddWin(rows[1][2], 9)
	s.Collect()
	check(1, 4, market.Spent{Ordinal: 3, Expected: 80, Wins: 4})
}

// A win is pending at once, and until the second collection after the one that has reported it.
func TestWinsArePendingForTwoReports(t *testing.T) {
	m := market.New(1)
	b := m.PutCampaign(campaign(1, 1))
	m.Publish()
	v := m.View()
	row, s := rowOf(t, v, b), market.NewSpending(m)
	for i, x := range []struct{ win, then uint64 }{{100, 100}, {20, 120}, {3, 23}, {0, 3}, {0, 0}, {7, 7}, {0, 7}, {0, 0}} {
		before := b.Pending()
		v.AddWin(row, money.Micros(x.win))
		if got := b.Pending(); got != before+x.win {
			t.Errorf("%d pending after a win of %d over %d", got, x.win, before)
		}
		s.Collect()
		if got := b.Pending(); got != x.then {
			t.Errorf("%d pending after collection %d, want %d", got, i+1, x.then)
		}
	}
}

// Auctions add while the totals are collected and balances are published. No win is lost, and none is counted twice.
func TestSpendingLosesNothing(t *testing.T) {
	const workers, each, campaigns = 4, 20_000, 3
	m := market.New(1)
	rows := rowsOf(t, m, campaigns)[1]
	s, v := market.NewSpending(m), m.View()
	var done atomic.Bool
	var adding, reading sync.WaitGroup
	for w := range workers {
		adding.Go(func() {
			for i := range each {
				v.AddWin(rows[(w+i)%campaigns], money.Micros(1+i%7))
			}
		})
	}
	reading.Go(func() {
		b := v.Balances(rows[0])
		for !done.Load() {
			b.Hold.Store(int64(b.Pending())) // What the leader publishes changes no total.
			b.BudgetLeft.Add(-1)
		}
	})
	reading.Go(func() {
		var before []market.Spent
		for !done.Load() {
			report := s.Collect()
			for i, x := range s.AppendChanged(nil, 1, 0) {
				if i < len(before) && before[i].Ordinal == x.Ordinal && (x.Expected < before[i].Expected || x.Wins < before[i].Wins) {
					t.Errorf("report %d: %v after %v", report, x, before[i])
				}
			}
			before = s.AppendChanged(before[:0], 1, 0)
		}
	})
	adding.Wait()
	done.Store(true)
	reading.Wait()

	s.Collect()
	want := market.Spent{}
	for i := range each {
		want.Expected += workers * money.Micros(1+i%7)
	}
	got := market.Spent{}
	for _, x := range s.AppendChanged(nil, 1, 0) {
		got.Expected += x.Expected
		got.Wins += x.Wins
	}
	if got.Expected != want.Expected || got.Wins != workers*each {
		t.Errorf("%v of %v in %d of %d wins", got.Expected, want.Expected, got.Wins, workers*each)
	}
	for range 2 {
		s.Collect()
	}
	for _, row := range rows {
		if n := v.Balances(row).Pending(); n != 0 {
			t.Errorf("%d stay pending", n)
		}
	}
}

func TestClaimedSaturates(t *testing.T) {
	for _, x := range []struct {
		nodes, pending uint64
		want           int64
	}{{0, 5, 0}, {3, 5, 15}, {1, 1 << 62, 1 << 62}, {2, 1 << 62, 1 << 62}, {4, 1 << 62, 1 << 62}, {math.MaxUint32, math.MaxUint64, 1 << 62}} {
		if got := market.Claimed(x.nodes, x.pending); got != x.want {
			t.Errorf("%d nodes and %d: %d, want %d", x.nodes, x.pending, got, x.want)
		}
	}
}

// Auctions wait for one cache line for each bid, so balances must not span two.
func TestBalancesAreAligned(t *testing.T) {
	m := market.New(1)
	for i := range 2000 {
		if b := m.PutCampaign(campaign(1, uint32(i+1))); uintptr(unsafe.Pointer(b))%64 != 0 {
			t.Fatalf("campaign %d: %p", i+1, b)
		}
	}
}

// Every worker counts in its own stripe, and the counts outlive the marketplace's settings.
func TestTraffic(t *testing.T) {
	m := market.New(1)
	m.PutMarketplace(&settings)
	m.PutMarketplace(&model.Marketplace{Ordinal: 3})
	m.Publish()
	var all sync.WaitGroup
	for stripe := range uint32(2 * market.TrafficStripes) {
		all.Go(func() {
			for range 100 {
				m.View().CountAuctions(1, model.Listing, stripe, 5)
				m.View().CountAuctions(3, model.SponsoredBrand, stripe, 1)
			}
		})
	}
	all.Wait()
	m.Reset(0, true)
	m.PutMarketplace(&settings)
	m.Publish()
	m.View().CountAuctions(1, model.Banner, 0, 1)
	want := "[{1 0 16000} {1 1 1} {3 2 3200}]"
	if got := fmt.Sprint(m.AppendTraffic(nil)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// BenchmarkCollect measures one collection and one report of all groups, in a market of 100,000 campaigns of 16 groups
// of which one in 10 has won since the last one.
func BenchmarkCollect(b *testing.B) {
	const campaigns = 100_000
	m := market.New(1)
	for i := range campaigns {
		m.PutCampaign(campaign(ids.Group(1+i%16), uint32(i/16+1)))
	}
	m.Publish()
	v, s := m.View(), market.NewSpending(m)
	for row := range uint32(campaigns) {
		v.AddWin(row+1, 1)
	}
	s.Collect()
	var spent []market.Spent
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for i := range uint32(campaigns / 10) {
			v.AddWin(1+i*7919%campaigns, 1)
		}
		b.StartTimer()
		report := s.Collect()
		for g := range ids.Group(17) {
			spent = s.AppendChanged(spent[:0], g, report-1)
		}
	}
}

// BenchmarkAddWin measures a win of a campaign whose balances are in the cache, as after its gates.
func BenchmarkAddWin(b *testing.B) {
	m := market.New(1)
	m.PutCampaign(campaign(1, 1))
	m.Publish()
	v := m.View()
	for b.Loop() {
		v.AddWin(1, 1)
	}
}
