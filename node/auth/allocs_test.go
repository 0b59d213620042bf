//go:build !race

package auth_test

import (
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
)

func TestCheckDoesNotAllocate(t *testing.T) {
	table := auth.NewTable()
	k := generate(t, auth.Auction)
	put(t, table, k, 1, 0)
	good, bad := []byte("Bearer "+k.String()), []byte("Bearer "+generate(t, auth.Auction).String())
	var memo auth.Memo
	for name, header := range map[string][]byte{"good": good, "unknown": bad, "absent": nil} {
		if n := testing.AllocsPerRun(100, func() { table.Check(header, auth.Auction, time.UnixMilli(now), &memo).Count() }); n != 0 {
			t.Errorf("%s key: %v allocations", name, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		var empty auth.Memo
		if table.Check(good, auth.Auction, time.UnixMilli(now), &empty).Code != apierr.OK {
			t.Fatal("refused")
		}
	}); n != 0 {
		t.Errorf("key not remembered: %v allocations", n)
	}
}

func BenchmarkCheck(b *testing.B) {
	table := auth.NewTable()
	k := generate(b, auth.Auction)
	put(b, table, k, 1, 0)
	header := []byte("Bearer " + k.String())
	var memo auth.Memo
	b.Run("remembered=true", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			table.Check(header, auth.Auction, time.UnixMilli(now), &memo).Count()
		}
	})
	b.Run("remembered=false", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var empty auth.Memo
			table.Check(header, auth.Auction, time.UnixMilli(now), &empty)
		}
	})
}
