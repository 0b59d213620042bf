package shard_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// TestModelOfReturns is TestModelOfMoney with purchases, returns and reversals only, from fixed seeds, so that it is known
// to contain what it is about: returns of credited items, in part and whole, and reversals of every kind of charge.
func TestModelOfReturns(t *testing.T) {
	const steps = 250 // The tokens that purchases pay for expire with the jumps of the clock.
	seen := map[string]int{}
	for seed := range uint64(64) {
		random := rand.New(rand.NewPCG(seed, 14))
		g := shardtest.NewGenerator(func(n int, _ string) int { return random.IntN(n) })
		g.Model.UnknownMax, g.Model.ClickAdsMax, g.Model.TouchesMax, g.Model.LinksMax = unknownMax, clickAdsMax, touchesMax, linksMax
		g.Model.PurchaseAdsMax = purchaseAdsMax
		single, batched := openFew(t, shardtest.NewKV()), openFew(t, shardtest.NewKV())
		step := g.Newest()
		check(t, step.Check(single.Do(step.Command)))
		check(t, step.Check(batched.Do(step.Command)))
		for n := range steps {
			step := g.ReturnStep()
			if err := step.Check(single.Do(step.Command)); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, n, err)
			}
			check(t, step.Check(batched.Apply(step.Command)))
			name, _, _ := strings.Cut(step.Name, ",") // Without whether it was an attempt.
			seen[fmt.Sprint(name, " ", step.Result.Refusal)]++
			for name := range g.Model.Returns { // order: a count.
				if g.Model.Purchases[name] != nil {
					seen["returned before it was credited"]++
				}
			}
			if n%10 > 0 {
				continue
			}
			if err := g.Model.Compare(single); err != nil {
				t.Fatalf("seed %d, step %d, %s: %v", seed, n, step.Name, err)
			}
			batched.Commit()
			if !batched.KV.Equal(single.KV) || batched.Machine.Digest() != single.Machine.Digest() {
				t.Fatalf("seed %d, step %d: the replicas differ", seed, n)
			}
			if n%100 == 0 {
				batched = openFew(t, batched.KV) // A restart.
			}
		}
		countReturns(g.Model, seen)
	}
	for _, what := range []string{
		"reverse done", "reverse exceeds the charge", "reverse conflict", "reverse already exists", "reverse not found",
		"reversed a click", "reversed an impression", "reversed a purchase", "reversed an amount", "reversed in a total budget",
		"returned in part", "returned whole", "returned halo", "returned before it was credited",
	} {
		if seen[what] == 0 {
			t.Errorf("it does not contain %q: %v", what, seen)
		}
	}
}

func countReturns(m *shardtest.Model, seen map[string]int) {
	for i := range m.Credits {
		c := &m.Credits[i]
		switch {
		case c.Returned == 0:
		case c.Returned < c.Quantity:
			seen["returned in part"]++
		default:
			seen["returned whole"]++
		}
		if c.Returned > 0 && c.Halo {
			seen["returned halo"]++
		}
	}
	kinds := map[event.Kind]string{event.Click: "a click", event.Impression: "an impression", event.Purchase: "a purchase"}
	for _, r := range m.Reversals { // order: a count.
		if r.Line == 0 {
			seen["reversed an amount"]++
			continue
		}
		seen["reversed "+kinds[r.Parts[0].Kind]]++
		for _, c := range m.Campaigns {
			if c.ID == r.Campaign && c.Period == model.Total {
				seen["reversed in a total budget"]++
			}
		}
	}
}

// TestReturns reports a purchase of two products and returns them: more than were bought, twice under one id, of a
// product that was not bought, before the purchase, and after 30 days.
func TestReturns(t *testing.T) {
	const day = 24 * 3_600_000
	r := open(t, shardtest.NewKV())
	r.Do(setFeature(command.LevelNewest))
	number := byte(0)
	report := func(millis int64, of byte, items ...command.PurchaseItem) {
		t.Helper()
		number++
		e := command.EventRecord{
			Key: [16]byte{number}, Kind: event.Purchase, OccurredMillis: millis, Bucket: event.BucketOf(millis), Cell: 4, UserHash: 1, Items: items,
		}
		if of != 0 {
			e.ReturnOf = [16]byte{of}
		}
		r.Do(command.AppendEvents(nil, benchNow+2*day, &command.Events{Marketplace: 1, Records: []command.EventRecord{e}}))
	}
	items := func(product string, n int64) command.PurchaseItem {
		return command.PurchaseItem{ProductID: []byte(product), Quantity: n, UnitPrice: 100}
	}
	left := func(why string, purchases, p1, p2 int64) {
		t.Helper()
		q := r.Queries()
		whole, one, two := q.NoCampaignCounters(1, 0, 9), q.ProductCounters(1, "p1", 0, 9), q.ProductCounters(1, "p2", 0, 9)
		expect(t, why+": purchases", whole.Purchases, purchases)
		expect(t, why+": pieces", whole.PurchaseQuantity, p1+p2)
		expect(t, why+": amount", int64(whole.PurchaseAmount), 100*(p1+p2))
		expect(t, why+": pieces of p1", one.PurchaseQuantity, p1)
		expect(t, why+": pieces of p2", two.PurchaseQuantity, p2)
		expect(t, why+": p1 is counted", one.Purchases, min(1, p1))
		check(t, q.Verify())
	}
	report(benchNow, 0, items("p1", 3), items("p2", 1)) // Number 1.
	left("bought", 1, 3, 1)
	report(benchNow+day, 1, items("p1", 1), items("p3", 5))
	left("one came back", 1, 2, 1)
	report(benchNow-1, 1, items("p1", 1))
	report(benchNow+1, 77, items("p1", 1))
	left("before the purchase, and of an unknown one", 1, 2, 1)
	report(benchNow+day, 1, items("p1", 9))
	left("more than were bought", 1, 0, 1)
	report(benchNow+day, 1, items("p2", 1), items("p2", 1))
	left("all", 0, 0, 0)
	r.Do(command.AppendAdvance(nil, benchNow+30*day, &command.Advance{}))
	report(benchNow+30*day, 0, items("p1", 2)) // Number 7.
	r.Do(command.AppendAdvance(nil, benchNow+60*day+1, &command.Advance{}))
	report(benchNow+60*day+1, 7, items("p1", 1))
	left("after 30 days and a millisecond", 1, 2, 0)
	report(benchNow+60*day, 7, items("p1", 1))
	left("after 30 days", 1, 1, 0)
	open := r.Queries().OpenReturns(9)
	expect(t, "returns that wait until their purchases are credited", len(open), 2)
	expect(t, "one waits", open[0].Uncredited, true)
	r.Do(command.AppendAdvance(nil, benchNow+92*day, &command.Advance{}))
	_, found := r.Queries().Purchase(&command.PurchaseName{OpenedMillis: benchNow + 30*day, Key: [16]byte{7}})
	expect(t, "it is kept", found, false)
}

// The largest purchase that an event can report may come back as a whole: the sum of its pieces does not overflow.
func TestPiecesReturnedDoNotOverflow(t *testing.T) {
	var p command.Purchase
	for range event.ItemsMax {
		p.Items = append(p.Items, command.SoldItem{Quantity: event.PiecesMax, Returned: event.PiecesMax})
	}
	if got, want := shard.PiecesReturned(&p), int64(event.ItemsMax)*event.PiecesMax; got != want || got != 1_000_000_000_000_000 {
		t.Errorf("%d pieces came back, want %d", got, want)
	}
}
