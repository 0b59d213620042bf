package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
)

// counting counts the records that are read, and stops the work after a number of them.
type counting struct {
	groups
	records int
	stop    int // 0 means never.
	cancel  context.CancelFunc
}

func (c *counting) Read(g ids.Group, fn func(shard.Reader) error) error {
	return c.groups.Read(g, func(r shard.Reader) error { return fn(countingReader{r, c}) })
}

type countingReader struct {
	shard.Reader
	c *counting
}

func (r countingReader) count() {
	if r.c.records++; r.c.records == r.c.stop {
		r.c.cancel()
	}
}

func (r countingReader) Get(key []byte) ([]byte, bool) {
	r.count()
	return r.Reader.Get(key)
}

func (r countingReader) Scan(from, to []byte, fn func(key, value []byte) bool) {
	r.Reader.Scan(from, to, func(key, value []byte) bool {
		r.count()
		return fn(key, value)
	})
}

// invented is an environment with a number of reported purchases, each of another product that nobody sells.
func invented(t *testing.T, products int) (*counting, store.Tenant) {
	t.Helper()
	w := managetest.New(t)
	all := make([]command.EventRecord, products)
	for i := range all {
		all[i] = command.EventRecord{
			Key: [16]byte{1, byte(i >> 8), byte(i)}, Kind: event.Purchase, Bucket: event.BucketOf(w.Now().UnixMilli()),
			OccurredMillis: w.Now().UnixMilli(), Cell: localHour(w.Now()),
			Items: []command.PurchaseItem{{ProductID: fmt.Appendf(nil, "invented-%d", i), Quantity: 2, UnitPrice: 10_000}},
		}
	}
	e := command.Events{Marketplace: managetest.Main, Records: all}
	propose(t, w, command.AppendEvents(nil, w.Now().UnixMilli(), &e), w.Store.Groups.GroupOf(1))
	c := &counting{groups: w.Store.Groups}
	w.Store.Groups = c
	return c, w.Store.Tenant(managetest.Main)
}

var today = store.Dates{From: "2026-03-16", To: "2026-03-18"}

// TestTotalsReadNoProducts: the cost of a total does not depend on how many products were sold, and it counts all of them.
func TestTotalsReadNoProducts(t *testing.T) {
	var cost [2]int
	for i, products := range []int{10, 2_000} {
		c, tenant := invented(t, products)
		total := sumOf(tenant.MarketplaceCounters(t.Context(), today, store.Whole, false))
		cost[i] = c.records
		if total.Purchases != int64(products) || total.PurchaseQuantity != 2*int64(products) {
			t.Errorf("%d products: %+v", products, total)
		}
		rows, err := tenant.MarketplaceCounters(t.Context(), today, store.Whole, true)
		if err != nil || len(rows) != 1 || rows[0].Counters != total || len(rows[0].Sold) != products {
			t.Errorf("by product: %d rows, %v", len(rows), err)
		}
	}
	if cost[0] != cost[1] {
		t.Errorf("a total over 10 products reads %d records, one over 2,000 reads %d", cost[0], cost[1])
	}
}

// TestReportsStop: a report whose client has disconnected reads nothing more.
func TestReportsStop(t *testing.T) {
	const stop = 500
	c, tenant := invented(t, 2_000)
	f := func(what string, report func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c.records, c.stop, c.cancel = 0, stop, cancel
		if err := report(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
		if more := c.records - stop; more < 0 || more > 10 {
			t.Errorf("%s: %d records after the end", what, more)
		}
	}
	f("marketplace", func(ctx context.Context) error {
		_, err := tenant.MarketplaceCounters(ctx, today, store.Daily, true)
		return err
	})
	for _, by := range []store.Grouping{store.ByVendor, store.ByProduct} {
		f("interactions by "+string(by), func(ctx context.Context) error {
			now := managetest.Start
			_, _, err := tenant.Interactions(ctx, &store.Interactions{From: now.AddDate(0, 0, -3), To: now.AddDate(0, 0, 1), By: by, Page: store.Page{Limit: 10}})
			return err
		})
	}
}
