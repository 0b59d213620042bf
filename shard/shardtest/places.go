package shardtest

import (
	"math"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
)

// comparePlaces compares the counters of a campaign at every place: there are none below the level from which places are, and
// nothing is compared when something was counted below and the level was raised after that.
func (m *Model) comparePlaces(b shard.Queries, c *Campaign, fail func(string, ...any)) {
	if m.countedWithoutPlaces {
		return
	}
	got := map[event.Place]shard.PlaceCounters{}
	for _, p := range b.CampaignPlaces(c.ID, 0, math.MaxUint32) {
		got[p.Place] = p
	}
	for place := range event.Place(math.MaxUint8) {
		want := m.countAt(c.ID, c.Marketplace, func(p event.Place) bool { return p == place && m.Level >= command.LevelPlaces })
		want.Purchases, want.PurchaseQuantity, want.PurchaseAmount, want.Pageviews = 0, 0, 0, 0
		if got[place].Counters != want {
			fail("campaign %d counts %+v at place %#x, not %+v", c.Ordinal, got[place].Counters, place, want)
		}
	}
}
