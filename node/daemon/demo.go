package daemon

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/demo"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// countersEvery is how often the demo prints its live counters on a terminal.
const countersEvery = 5 * time.Second

// demo prints the banner, fills the market, prints calls that have winners, and runs simulated shoppers until the context
// ends. The keys are printed before the market is filled: whoever ends a long fill has them all the same. A market with a
// history is filled before the listeners open, by writeHistory, which prints the keys then.
func (n *node) demo(ctx context.Context, o Options) error {
	options := o.Demo.market()
	options.Progress = func(done, total int) {
		n.screen.show(fmt.Sprintf("filling the demo market: %d %%", 100*done/max(total, 1)))
	}
	first, err := n.demoMarketplace()
	if err != nil {
		return err
	}
	tenant, started := n.store.Tenant(first), time.Now()
	key, err := n.shopperKey(ctx, tenant)
	if err != nil {
		return err
	}
	b, err := n.banner()
	if err != nil {
		return err
	}
	b.demoKey, b.next = key, ""
	b.write(o.Out)
	n.screen.release()

	seeded, err := demo.Seed(ctx, tenant, options, started.UnixMilli())
	n.screen.show("")
	if err != nil && ctx.Err() != nil {
		return n.waitForEnd(ctx)
	}
	if err != nil {
		return fmt.Errorf("fill the demo market: %w", err)
	}
	generated := demo.Generate(options)
	if seeded {
		_, _ = fmt.Fprintf(o.Out, "the demo market was filled in %.1f s: %d products, %d vendors, %d campaigns; %d shoppers are browsing\n",
			time.Since(started).Seconds(), len(generated.Products), len(generated.Vendors), len(generated.Campaigns), o.Demo.Shoppers)
	}
	if h := n.demoPast; h != nil {
		_, _ = fmt.Fprintf(o.Out, "the demo market has %d products, %d vendors, %d campaigns and %d days of history: %d auctions, "+
			"%d impressions, %d clicks, %d purchases; %d shoppers are browsing\n", len(generated.Products), len(generated.Vendors),
			len(generated.Campaigns), o.Demo.HistoryDays, h.Auctions, h.Impressions, h.Clicks, h.Purchases, o.Demo.Shoppers)
	}
	shoppers := demo.NewShoppers(b.auctionURL, key, generated)
	products := winningProducts(generated)
	token, err := shoppers.FirstWinner(ctx, products)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("run the first auction: %w", err)
	}
	_, _ = io.WriteString(o.Out, demoCalls(b, key, products, token))
	return n.runShoppers(ctx, o, shoppers)
}

// market returns the size of the market.
func (o *DemoOptions) market() demo.Options {
	return demo.Options{Seed: o.Seed, Products: o.Products, Vendors: o.Vendors, Campaigns: o.Campaigns}.WithDefaults()
}

// shopperKey returns the auction key of the shoppers: the preset one, which in a cluster another node may have stored, or
// that of demoKey.
func (n *node) shopperKey(ctx context.Context, t store.Tenant) (string, error) {
	key := n.cfg.BootstrapAuctionKey.Reveal()
	if n.publisher.keys.Check([]byte("Bearer "+key), auth.Auction, n.now(), new(auth.Memo)).Code == apierr.OK {
		return key, nil
	}
	return demoKey(ctx, t, n.firstKeys)
}

// demoMarketplace returns the ordinal of the marketplace that the demo fills, which is the cluster's first one.
func (n *node) demoMarketplace() (uint16, error) {
	all, err := n.marketplaces()
	if err != nil {
		return 0, err
	}
	return all[0].Ordinal, nil
}

// demoKey returns the auction key that the shoppers use: the first one of a new cluster, otherwise a new one, because
// the text of existing keys is not stored. The key of the previous demo run is revoked, so that restarts do not
// accumulate keys.
func demoKey(ctx context.Context, t store.Tenant, first *FirstKeys) (string, error) {
	if first != nil {
		return first.Auction, nil
	}
	const name = "demo shoppers"
	keys, err := t.Keys(ctx)
	if err != nil {
		return "", err
	}
	for _, k := range keys {
		if k.Name == name {
			if err := t.RevokeKey(ctx, k.ID); err != nil {
				return "", err
			}
		}
	}
	_, text, err := t.CreateKey(ctx, store.AuctionKey, name, 0)
	return text, err
}

// winningProducts returns up to five products that have bids and belong to different vendors.
func winningProducts(m *demo.Market) (ids []string) {
	seen := map[string]bool{}
	active := map[string]bool{}
	for i := range m.Products {
		active[m.Products[i].ID] = m.Products[i].Active
	}
	for _, c := range m.Campaigns {
		if len(ids) == 5 {
			break
		}
		if at := firstActive(c.Bids, active); at != "" && !seen[c.VendorID] {
			seen[c.VendorID] = true
			ids = append(ids, at)
		}
	}
	return ids
}

func firstActive(bids []model.Bid, active map[string]bool) string {
	for _, b := range bids {
		if active[b.Target] {
			return b.Target
		}
	}
	return ""
}

// runShoppers runs the shoppers and, on a terminal, prints the counters, until the context ends or a listener fails.
func (n *node) runShoppers(ctx context.Context, o Options, s *demo.Shoppers) error {
	shopping, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { s.Run(shopping, o.Demo.Shoppers, uint64(time.Now().UnixNano())) }) // A seed.
	if o.Demo.Terminal {
		all.Go(func() { printCounters(shopping, o.Out, s.Counts()) })
	}
	err := n.waitForEnd(ctx)
	cancel()
	all.Wait()
	return err
}

func printCounters(ctx context.Context, out io.Writer, c *demo.Counts) {
	ticker := time.NewTicker(countersEvery)
	defer ticker.Stop()
	var previous int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := c.Auctions.Load()
		_, _ = fmt.Fprintf(out, "%s  auctions %d (%.0f/s)  winners %d  impressions %d  clicks %d  purchases %d  failures %d\n",
			time.Now().Format(time.TimeOnly), now, float64(now-previous)/countersEvery.Seconds(), c.Winners.Load(),
			c.Impressions.Load(), c.Clicks.Load(), c.Purchases.Load(), c.Failures.Load())
		previous = now
	}
}
