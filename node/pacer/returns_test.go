package pacer

import (
	"container/heap"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/cluster"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// shop is a solo node whose campaign pays by the click and has a target return of 4. A share of its clicks buy, with the
// delays of pacing.Params. Bids with the factor m win m of the clicks at m of their price.
type shop struct {
	*solo
	random    *rand.Rand
	worth     money.Micros // Of a purchase.
	purchases dueTimes
	clicked   float64
	spend     float64
	value     float64
}

const (
	shopClicks = 400       // A day, with full bids.
	shopPrice  = 1_000_000 // Of a click, with full bids.
	shopRate   = 0.1
	shopTarget = 4_000
	shopStep   = 5 * time.Minute
)

// newShop returns a shop whose full bids return so much of the target.
func newShop(t *testing.T, atFull float64) *shop {
	t.Helper()
	s := &shop{random: rand.New(rand.NewPCG(1, 2)), worth: money.Micros(atFull * shopPrice * shopTarget / 1000 / shopRate)}
	s.solo = newSolo(t, time.UTC, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), 0, nil)
	c := model.Campaign{
		ID: ids.UUID{9}, Marketplace: fleetMarket, VendorID: "v", Name: "r", Active: true, Status: model.Approved, Charge: model.CPC,
		Type: model.Autobidding, TargetROASMilli: shopTarget,
	}
	c.ID[15] = byte(ids.ShardOf(ids.AccountOf(fleetMarket, "v")))
	s.apply(command.AppendCreateCampaign(nil, s.now.UnixMilli(), &command.CreateCampaign{Campaign: c, Bids: []model.Bid{
		{ID: ids.UUID{9, 1}, Target: "p", Amount: shopPrice, Active: true},
	}}))
	return s
}

// shopCampaign is the ordinal of the campaign: newSolo has made another one.
const shopCampaign = 2

// dueTimes is a heap of the times, in Unix milliseconds, at which purchases come.
type dueTimes []int64

func (d dueTimes) Len() int           { return len(d) }
func (d dueTimes) Less(i, j int) bool { return d[i] < d[j] }
func (d dueTimes) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *dueTimes) Push(x any)        { *d = append(*d, x.(int64)) }
func (d *dueTimes) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

// factor returns the factor of the bids that auctions read.
func (s *shop) factor() float64 {
	_, factor := pacing.Split(s.run.slot.Load().Pacing.Load())
	return factor
}

// days runs some days of clicks, purchases and ticks.
func (s *shop) days(n int) {
	s.spend, s.value = 0, 0
	for end := s.now.Add(time.Duration(n) * 24 * time.Hour); s.now.Before(end); {
		s.now = s.now.Add(shopStep)
		s.apply(command.AppendAdvance(nil, s.now.UnixMilli(), &command.Advance{
			Periods: []command.Periods{cluster.PeriodsAt(fleetMarket, s.now, s.zone)},
		}))
		m := s.factor()
		if m > 1 {
			s.t.Fatalf("the factor is %v", m)
		}
		s.clicked += shopClicks * shopStep.Hours() / 24 * m
		s.click(money.Micros(shopPrice * m))
		s.buy()
		for range idleTurns { // So that the campaign has its turn.
			s.pacer.leader(1).tick(s.t.Context())
		}
	}
}

// click reports the clicks of a step.
func (s *shop) click(price money.Micros) {
	now := s.now.UnixMilli()
	e := command.Events{Marketplace: fleetMarket}
	for ; s.clicked >= 1; s.clicked-- {
		s.events++
		x := command.EventRecord{
			Kind: event.Click, Charge: model.CPC, Campaign: shopCampaign, Bid: 1, Price: price, Rank: 1, Product: []byte("p"),
			OccurredMillis: now, Bucket: event.BucketOf(now), Cell: event.BucketOf(now) * 4,
		}
		binary.LittleEndian.PutUint64(x.Key[:], s.events)
		x.ChargeKey = x.Key
		e.Records = append(e.Records, x)
		s.spend += float64(price)
		if s.random.Float64() < shopRate {
			heap.Push(&s.purchases, now+int64(1000*s.delay()))
			s.value += float64(s.worth)
		}
	}
	if len(e.Records) > 0 {
		s.apply(command.AppendEvents(nil, now, &e))
	}
}

// delay draws the seconds from a click to its purchase.
func (s *shop) delay() float64 {
	parts, u := pacing.Defaults().PurchaseDelay, s.random.Float64()
	for _, part := range parts {
		if u -= part.Share; u < 0 {
			return s.random.ExpFloat64() * part.Mean
		}
	}
	return s.random.ExpFloat64() * parts[2].Mean
}

// buy credits the purchases that have come.
func (s *shop) buy() {
	now := s.now.UnixMilli()
	for len(s.purchases) > 0 && s.purchases[0] <= now {
		heap.Pop(&s.purchases)
		s.events++
		c := command.Credit{
			Purchase: command.PurchaseName{OpenedMillis: now}, Group: 1, Marketplace: fleetMarket, Campaign: shopCampaign, Bid: 1,
			Kind: event.Click, Cell: event.BucketOf(now) * 4, Product: "p", Quantity: 1, UnitPrice: s.worth,
		}
		binary.LittleEndian.PutUint64(c.Purchase.Key[:], s.events)
		s.apply(command.AppendApplyCredits(nil, now, &command.ApplyCredits{Credits: []command.Credit{c}}))
	}
}

func (s *shop) status() pacing.Status {
	c, _ := shard.Queries{R: s.kv}.CampaignByOrdinal(shopCampaign)
	return c.Paced.Status
}

// A campaign whose full bids return half of its target is lowered until it returns the target, in the state machine, the
// market and the controller together: purchases reach it as credits. A leader that takes over continues.
func TestBidsFollowTheTargetReturn(t *testing.T) {
	s := newShop(t, 0.5)
	s.days(2)
	if f := s.factor(); f < 0.6 {
		t.Errorf("after two days the factor is %.2f: purchases that are still to come were taken for missing", f)
	}
	if testing.Short() {
		return // The loop needs weeks, which take ten seconds.
	}
	s.days(26)
	s.days(28)
	ratio, f := s.value/s.spend/(shopTarget/1000), s.factor()
	t.Logf("in four weeks after four weeks the return is %.3f of the target, the factor %.2f", ratio, f)
	if math.Abs(ratio-1) > 0.1 || math.Abs(f-0.5) > 0.1 {
		t.Errorf("the return is %.3f of the target with the factor %.2f, want 1 and 0.5", ratio, f)
	}
	if got := s.status(); got != pacing.LimitedByReturn {
		t.Errorf("the status is %v", got)
	}
	if got := s.pacer.Stats().ByReturn; got != 1 {
		t.Errorf("%d campaigns are counted as limited by their return", got)
	}
	s.pacer.leader(1).resign()
	for range 2 * idleTurns {
		s.pacer.leader(1).tick(t.Context())
	}
	if got := s.factor(); math.Abs(got-f) > 0.02 {
		t.Errorf("the next leader begins with the factor %.3f, the last one ended with %.3f", got, f)
	}
	off := uint32(0)
	s.apply(command.AppendPatchCampaign(nil, s.now.UnixMilli(), &command.PatchCampaign{
		Campaign: shopID(s), Marketplace: fleetMarket, TargetROASMilli: &off,
	}))
	for range 2 * idleTurns {
		s.pacer.leader(1).tick(t.Context())
	}
	if got := s.factor(); got != 1 {
		t.Errorf("without a target the factor is %.3f, want 1", got)
	}
}

func shopID(s *shop) ids.UUID {
	c, _ := shard.Queries{R: s.kv}.CampaignByOrdinal(shopCampaign)
	return c.ID
}

// Full bids that return more than the target stay full.
func TestGoodReturnsLeaveBidsAlone(t *testing.T) {
	s := newShop(t, 1.5)
	s.days(14)
	if f := s.factor(); f < 0.98 {
		t.Errorf("the factor is %.3f", f)
	}
}
