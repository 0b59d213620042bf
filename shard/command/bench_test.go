package command

import (
	"testing"

	"github.com/gavel-ads/gavel/shard/model"
)

// BenchmarkCodec writes and reads the values of which a state has most.
func BenchmarkCodec(b *testing.B) {
	bid := model.Bid{ID: someBids[0].ID, Ordinal: 1, Target: "product-12345", Amount: 250_000, Active: true, CreatedMillis: now, UpdatedMillis: now}
	product := model.Product{
		ID: "product-12345", Name: "Shoe", Vendors: []string{"v1"}, Categories: []string{"c1"}, Active: true, Quality: model.QualityOne,
		Price: 19_990_000, Attributes: []string{"a:b"}, Document: []byte(`{"a":1}`), CreatedMillis: 1, UpdatedMillis: 2,
	}
	b.Run("value=campaign", func(b *testing.B) { benchmarkCodec(b, campaigns, &someCampaign) })
	b.Run("value=bid", func(b *testing.B) { benchmarkCodec(b, bids, &bid) })
	b.Run("value=product", func(b *testing.B) { benchmarkCodec(b, products, &product) })
}

func benchmarkCodec[S any](b *testing.B, t *table[S], s *S) {
	stored := t.append(nil, s)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			stored = t.append(stored[:0], s)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		var read, zero S
		var d Decoder
		for b.Loop() {
			d, read = NewDecoder(stored), zero
			t.read(&d, &read)
		}
	})
}
