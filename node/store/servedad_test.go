package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/money"
)

// An ad that a purchase pays for is charged when the purchase is credited to it. Its interactions are told from those of another ad of
// the same bid and hour by the charge key, and nobody but its marketplace sees it.
func TestAServedAdThatAPurchasePaysFor(t *testing.T) {
	w := newShopping(t)
	name := func(token byte) *store.ServedAdName {
		c := &w.campaigns[0]
		return &store.ServedAdName{Bid: w.bids[0].Ordinal, Charge: store.ChargeName{
			Group: c.Group, Campaign: c.Ordinal, Kind: event.Purchase, Hour: event.BucketOf(managetest.Start.UnixMilli()), Key: [16]byte{token, 2},
		}}
	}
	served := func(of *store.ServedAdName, user uint64) store.ServedAd {
		t.Helper()
		ad, err := w.Store.Tenant(managetest.Main).ServedAd(of, user)
		if err != nil || ad.CampaignID != w.campaigns[0].ID || ad.UserKnown != (user != 0) {
			t.Fatalf("%+v, %v", ad, err)
		}
		return ad
	}
	kinds := func(ad store.ServedAd) (all []event.Kind) {
		for _, x := range ad.Interactions {
			if x.Effect != store.OnlyCounted {
				t.Errorf("%+v decided a charge that a purchase decides", x)
			}
			all = append(all, x.Kind)
		}
		return all
	}
	w.touch(event.Impression, 0, 1)
	w.Advance(time.Minute)
	w.touch(event.Click, 0, 1)
	w.touch(event.Impression, 0, 5)
	if ad := served(name(1), 7); !ad.Open || ad.Decided || !slices.Equal(kinds(ad), []event.Kind{event.Impression, event.Click}) {
		t.Errorf("before the purchase: %+v", ad)
	}
	w.Advance(time.Minute)
	w.buy(0)
	w.credit(time.Minute, w.data()...)
	ad := served(name(1), 0)
	if ad.Open || !ad.Decided || ad.Outcome != command.Charged || ad.Charged != money.PerMajor || ad.DecidedMillis != w.Now().UnixMilli() || ad.Interactions != nil {
		t.Errorf("after the purchase, at %d: %+v", w.Now().UnixMilli(), ad)
	}
	if ad = served(name(5), 7); !ad.Open || ad.Decided || !slices.Equal(kinds(ad), []event.Kind{event.Impression}) {
		t.Errorf("another ad: %+v", ad)
	}
	if _, err := w.Store.Tenant(managetest.Other).ServedAd(name(1), 7); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another marketplace: %v", err)
	}
}
