package market

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

const benchCampaigns = 20_000

// load fills a market with bids spread evenly over products, and returns its campaigns.
func load(bids, products int) (*Market, []model.Campaign) {
	m := New(1)
	m.PutMarketplace(&model.Marketplace{Ordinal: 1})
	campaigns := make([]model.Campaign, benchCampaigns)
	for i := range campaigns {
		campaigns[i] = model.Campaign{
			ID: ids.Mint(int64(i), [10]byte{}, 1), Ordinal: uint32(i + 1), Group: 1, Marketplace: 1, Charge: model.CPC,
			VendorID: fmt.Sprint("vendor-", i%2000), Active: true, Status: model.Approved,
		}
		m.PutCampaign(&campaigns[i])
	}
	for i := range products {
		m.PutProduct(1, &model.Product{ID: productID(i), Active: true, Quality: model.QualityOne})
	}
	for i := range bids {
		m.PutBid(&campaigns[i%benchCampaigns], benchBid(i, productID(i%products)))
	}
	m.Publish()
	return m, campaigns
}

func productID(i int) string { return fmt.Sprintf("sku%07d", i) }

func benchBid(i int, id string) *model.Bid {
	return &model.Bid{
		Ordinal: uint32(i + 1), Target: id, Amount: money.Micros(1+i%200) * 10_000, Active: true,
		Triggers: []model.Trigger{{Kind: model.TriggerProduct, Value: id}, {Kind: model.TriggerCategories, Value: id}},
	}
}

// BenchmarkLoad reports time and memory for each loaded bid, products and campaigns included.
func BenchmarkLoad(b *testing.B) {
	for _, x := range []struct{ bids, products int }{{1_000_000, 1_000_000}, {1_000_000, 200_000}} {
		b.Run(fmt.Sprintf("bids=%d/products=%d", x.bids, x.products), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var m *Market
			for b.Loop() {
				m = nil //nolint:ineffassign,wastedassign // Frees the last market before the next one is built.
				m, _ = load(x.bids, x.products)
			}
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(m)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*x.bids), "ns/bid")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(x.bids), "B/bid")
		})
	}
}

// BenchmarkPublish changes one bid among a million and publishes.
func BenchmarkPublish(b *testing.B) {
	m, campaigns := load(1_000_000, 1_000_000)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 7919) % 1_000_000
		changed := benchBid(i, productID(i))
		changed.Amount++
		m.PutBid(&campaigns[i%benchCampaigns], changed)
		m.Publish()
	}
}

// BenchmarkGrow doubles the table of a million products, which one command of a growing catalog waits for.
func BenchmarkGrow(b *testing.B) {
	const products = 1_000_000
	m, _ := load(0, products)
	small := m.products.table
	for b.Loop() {
		m.products.table = small
		m.growProducts(products)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*products), "ns/product")
}
