package store_test

import (
	"errors"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

const pricePerHour = 1_000

// newSpender makes a campaign that was charged a click of pricePerHour in each of so many hours, the newest of which is the present one.
func newSpender(t *testing.T, hours int) (w *managetest.Environment, id ids.UUID) {
	t.Helper()
	w = managetest.New(t)
	tenant := w.Store.Tenant(managetest.Main)
	c := campaign("v", "c")
	if err := tenant.CreateCampaign(t.Context(), c, nil); err != nil {
		t.Fatal(err)
	}
	created, err := tenant.Campaign(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	deposit := command.AdjustWallet{Request: ids.UUID{1}, Marketplace: managetest.Main, VendorID: "v", Amount: 9 * money.PerMajor}
	propose(t, w, command.AppendAdjustWallet(nil, w.Now().UnixMilli(), &deposit), c.Group)
	now := w.Now().UnixMilli()
	all := make([]command.EventRecord, hours)
	for i := range all {
		n := [2]byte{byte(i >> 8), byte(i)}
		all[i] = command.EventRecord{
			Key: [16]byte{1, n[0], n[1]}, Kind: event.Click, OccurredMillis: now, Bucket: event.BucketOf(now), Cell: localHour(w.Now()) - uint32(4*i),
			Campaign: created.Ordinal, Price: pricePerHour, Charge: model.CPC, ChargeKey: [16]byte{2, n[0], n[1]},
		}
	}
	propose(t, w, command.AppendEvents(nil, now, &command.Events{Marketplace: managetest.Main, Records: all}), c.Group)
	return w, c.ID
}

// What it costs to give an amount back does not depend on how long the campaign has run: the newest hours are read, and no others.
func TestAReversalReadsTheNewestHours(t *testing.T) {
	var cost [2]int
	for i, hours := range []int{30, 900} {
		w, id := newSpender(t, hours)
		reads := &counting{groups: w.Store.Groups}
		w.Store.Groups = reads
		r, err := w.Store.Tenant(managetest.Main).ReverseAmount(t.Context(), id, 3*pricePerHour/2, store.About{})
		if err != nil || r.Amount != 3*pricePerHour/2 || r.Lines != 2 {
			t.Fatalf("%d hours: %+v, %v", hours, r, err)
		}
		cost[i] = reads.records
	}
	if cost[0] != cost[1] {
		t.Errorf("a reversal reads %d records of a campaign of 30 hours, and %d of one of 900", cost[0], cost[1])
	}
}

// An amount of more hours than a reversal may have is refused as such, and so is one that is more than was charged.
func TestAReversalOfManyHours(t *testing.T) {
	w, id := newSpender(t, command.ReversalPartsMax+1)
	for _, c := range []struct {
		why    string
		amount money.Micros
		err    error
		lines  uint64
	}{
		{"more than was charged", (command.ReversalPartsMax + 2) * pricePerHour, store.ErrExceedsCharge, 0},
		{"an hour too many", (command.ReversalPartsMax + 1) * pricePerHour, store.ErrTooMany, 0},
		{"as many hours as there may be", command.ReversalPartsMax * pricePerHour, nil, command.ReversalPartsMax},
		{"more than is left", 2 * pricePerHour, store.ErrExceedsCharge, 0},
		{"the oldest hour", pricePerHour, nil, 1},
	} {
		r, err := w.Store.Tenant(managetest.Main).ReverseAmount(t.Context(), id, c.amount, store.About{})
		if !errors.Is(err, c.err) || r.Lines != c.lines {
			t.Errorf("%s: %d lines, %v, want %d, %v", c.why, r.Lines, err, c.lines, c.err)
		}
	}
}
