// Package demo generates a marketplace from a seed: a catalog with vendors, campaigns and bids of every format, and
// simulated shoppers who browse it, click and buy through the HTTP interface that a storefront uses.
//
// The same options always give the same market, so screenshots stay comparable. Prices, bids and click rates are
// plausible for a general store; they are invented and no real data.
package demo

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Options are the size of the demo. A zero member has the default in its comment.
type Options struct {
	Seed      uint64 // 1.
	Products  int    // 50,000.
	Vendors   int    // 500.
	Campaigns int    // 2,000.
	Shoppers  int    // 40; negative: none.

	// Progress is called after each write of Seed with the number of writes that are done, and of all. It may be called at
	// the same time from several goroutines. [not called]
	Progress func(done, total int)
}

// WithDefaults sets zero members to their defaults.
func (o Options) WithDefaults() Options {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&o.Products, 50_000)
	set(&o.Vendors, 500)
	set(&o.Campaigns, 2_000)
	set(&o.Shoppers, 40)
	if o.Seed == 0 {
		o.Seed = 1
	}
	return o
}

// Target is what Seed writes to: a store.Tenant, or a recorder in tests.
type Target interface {
	PutVendors(ctx context.Context, v []model.Vendor) error
	PutCategories(ctx context.Context, c []model.Category) error
	PutProducts(ctx context.Context, p []model.Product) error
	Adjust(ctx context.Context, vendorID string, wallet ids.UUID, amount money.Micros, strict bool, description string) (money.Micros, error)
	CreateCampaign(ctx context.Context, c *model.Campaign, bids []model.Bid) error
	Vendors(ctx context.Context, p store.Page, ids []string) ([]model.Vendor, bool, error)

	CreateSlots(ctx context.Context, all []store.Slot) ([]store.Slot, error)
	CreateTemplate(ctx context.Context, x *store.Template) error
	CreatePlacement(ctx context.Context, x *store.Placement) error
	CreateAsset(ctx context.Context, x *store.Asset, address string) error
	ReviewAsset(ctx context.Context, id ids.UUID, status store.AssetStatus, reason string) (store.Asset, error)
}

const seedBatch = 500 // BOUND: items of one write, as in the management API.

// Seed fills an empty marketplace. It returns false when the marketplace has vendors: a restarted demo keeps its
// market. Vendors are written last, and everything else under ids derived from the options, so that a start after an
// interrupted one adds what is missing and deposits nothing twice.
func Seed(ctx context.Context, t Target, o Options, nowMillis int64) (bool, error) {
	o = o.WithDefaults()
	have, _, err := t.Vendors(ctx, store.Page{Limit: 1}, nil)
	if err != nil {
		return false, fmt.Errorf("look for an earlier demo market: %w", err)
	}
	if len(have) > 0 {
		return false, nil
	}
	m := Generate(o)
	m.setTimes(nowMillis)
	written := o.counter((len(m.Products)+seedBatch-1)/seedBatch + len(m.Deposits) + len(m.Campaigns) + len(m.Ads.Campaigns))
	// named returns a context with an idempotency key that depends only on the options and the item.
	named := func(kind string, i int) context.Context {
		name := fmt.Appendf(nil, "gavel demo %d: %d %d %d %s %d", o.Seed, o.Products, o.Vendors, o.Campaigns, kind, i)
		return store.WithIdempotencyKey(ctx, sha256.Sum256(name))
	}
	if err := t.PutCategories(ctx, m.Categories); err != nil {
		return false, fmt.Errorf("write categories: %w", err)
	}
	if err := inBatches(m.Products, func(part []model.Product) error { return written(t.PutProducts(ctx, part)) }); err != nil {
		return false, fmt.Errorf("write products: %w", err)
	}
	err = inParallel(len(m.Deposits), func(i int) error {
		d := &m.Deposits[i]
		if _, err := t.Adjust(named("deposit", i), d.VendorID, ids.UUID{}, d.Amount, false, "opening deposit"); err != nil {
			return fmt.Errorf("fund vendor %s: %w", d.VendorID, err)
		}
		return written(nil)
	})
	if err != nil {
		return false, err
	}
	s := sellers{t, map[string]model.Vendor{}}
	for _, v := range m.Vendors {
		s.coming[v.ID] = v
	}
	err = inParallel(len(m.Campaigns), func(i int) error { return written(s.create(named("campaign", i), &m.Campaigns[i])) })
	if err != nil {
		return false, err
	}
	if err := seedAds(s, &m.Ads, named, written); err != nil {
		return false, err
	}
	if err := inBatches(m.Vendors, func(part []model.Vendor) error { return t.PutVendors(ctx, part) }); err != nil {
		return false, fmt.Errorf("write vendors: %w", err)
	}
	return true, nil
}

// counter returns a function that counts a write unless it failed, reports the progress, and returns the write's error.
func (o Options) counter(total int) func(error) error {
	var done atomic.Int64
	return func(err error) error {
		if err == nil && o.Progress != nil {
			o.Progress(int(done.Add(1)), total)
		}
		return err
	}
}

// sellers is a target in which the vendors of the market exist already: they are written last, and their campaigns
// before them.
type sellers struct {
	Target
	coming map[string]model.Vendor // Not changed any more.
}

// Vendor returns a vendor of the market.
func (s sellers) Vendor(_ context.Context, id string) (model.Vendor, error) {
	v, known := s.coming[id]
	if !known {
		return v, store.ErrNotFound
	}
	return v, nil
}

// create creates a campaign as every other entry point does.
func (s sellers) create(ctx context.Context, c *Campaign) error {
	if err := campaigns.Create(ctx, s, &campaigns.Draft{Campaign: c.Campaign, Bids: c.Bids}); err != nil {
		return fmt.Errorf("create campaign %q: %w", c.Name, err)
	}
	return nil
}

// seedAds writes the slots, creatives and campaigns beside the listings. What an earlier start has written is found by
// its idempotency key.
func seedAds(t sellers, a *Ads, named func(kind string, i int) context.Context, written func(error) error) (err error) {
	if a.Slots, err = t.CreateSlots(named("slots", 0), a.Slots); err != nil {
		return fmt.Errorf("create banner slots: %w", err)
	}
	if err = t.CreateTemplate(named("template", 0), &a.Template); err != nil {
		return fmt.Errorf("create a template: %w", err)
	}
	a.Placement.Template = a.Template.ID
	if err = t.CreatePlacement(named("placement", 0), &a.Placement); err != nil {
		return fmt.Errorf("create a placement: %w", err)
	}
	for i := range a.Assets {
		x := &a.Assets[i]
		if err = t.CreateAsset(named("asset", i), x, ""); err != nil {
			return fmt.Errorf("create asset %q: %w", x.Name, err)
		}
		if x.Status == store.AssetApproved {
			continue
		}
		if _, err = t.ReviewAsset(named("review", i), x.ID, store.AssetApproved, ""); err != nil {
			return fmt.Errorf("approve asset %q: %w", x.Name, err)
		}
	}
	a.setIDs()
	if err = t.PutProducts(named("travel", 0), a.Products); err != nil {
		return fmt.Errorf("write hotels and flights: %w", err)
	}
	for i := range a.Campaigns {
		if err = written(t.create(named("ads", i), &a.Campaigns[i])); err != nil {
			return err
		}
	}
	return nil
}

// writersMax is how many items are written at the same time. BOUND: each waits for a commit, and a commit carries many
// of them.
const writersMax = 32

// inParallel calls do for 0 to n-1, writersMax at a time, until a call fails, and returns an error of a failed call.
func inParallel(n int, do func(i int) error) error {
	var all sync.WaitGroup
	var next atomic.Int64
	failed := make(chan error, writersMax)
	for range min(n, writersMax) {
		all.Go(func() {
			for len(failed) == 0 {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func inBatches[T any](all []T, write func([]T) error) error {
	for len(all) > 0 {
		n := min(seedBatch, len(all))
		if err := write(all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}
