package command

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/gavel-ads/gavel/shard/market"
)

// TestMarketplaceFlags: the byte that says whether a marketplace is suspended also has later settings. Values of an
// older binary remain readable, every combination reads back, and a flag of a newer binary is refused and not dropped.
func TestMarketplaceFlags(t *testing.T) {
	plain := market.Marketplace{Ordinal: 1, Name: "m", CurrencyCode: "EUR"}
	written := AppendMarketplace(nil, &plain)
	const at = 2 + 16 + len("\x01m") // After ordinal, id and name.
	for flags := range byte(8) {
		want := plain
		want.Suspended, want.ApproveAssets, want.ReviewCampaigns = flags&1 != 0, flags&2 != 0, flags&4 != 0
		stored := bytes.Clone(written)
		stored[at] = flags
		if got := AppendMarketplace(nil, &want); !bytes.Equal(got, stored) {
			t.Errorf("flags %03b: written as %x, want %x", flags, got, stored)
		}
		d := NewDecoder(stored)
		if got := d.Marketplace(); d.Err() != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("flags %03b: read as %+v, %v", flags, got, d.Err())
		}
	}
	stored := bytes.Clone(written)
	stored[at] = 16
	d := NewDecoder(stored)
	if d.Marketplace(); d.Err() == nil {
		t.Error("an unknown flag was dropped")
	}
}
