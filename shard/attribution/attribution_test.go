package attribution

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
)

// naive is a second implementation of the decision about one item: it goes through the order stage by stage, and drops
// what another touch beats.
func naive(r *Rules, touches []Touch, millis int64, item Item) Credit {
	for halo, match := range []func(t *Touch) bool{
		func(t *Touch) bool { return item.Product != "" && t.Product == item.Product },
		func(t *Touch) bool {
			return (r.Halo || t.Product == "") && item.Vendor != "" && t.Vendor == item.Vendor
		},
	} {
		var left []int
		latest := int64(0)
		for i := range touches {
			if match(&touches[i]) && withinDays(r, &touches[i], millis) {
				left = append(left, i)
			}
		}
		prefer := func(preferred func(t *Touch) bool) {
			if slices.ContainsFunc(left, func(i int) bool { return preferred(&touches[i]) }) {
				left = slices.DeleteFunc(left, func(i int) bool { return !preferred(&touches[i]) })
			}
		}
		isClick := func(t *Touch) bool { return t.Kind == event.Click }
		if r.ListingsFirst {
			prefer(func(t *Touch) bool { return t.Format == model.Listing })
		}
		if !r.LastTouch {
			prefer(isClick)
		}
		for _, i := range left {
			latest = max(latest, touches[i].Millis)
		}
		prefer(func(t *Touch) bool { return t.Millis == latest })
		prefer(func(t *Touch) bool { return t.Format == model.Listing })
		prefer(func(t *Touch) bool { return t.Format == model.SponsoredBrand })
		prefer(isClick)
		slices.SortStableFunc(left, func(a, b int) int { return -strings.Compare(string(touches[a].Key[:]), string(touches[b].Key[:])) })
		if len(left) > 0 {
			return Credit{left[0], halo == 1}
		}
	}
	return Credit{Touch: -1}
}

// withinDays spells the windows out.
func withinDays(r *Rules, t *Touch, millis int64) bool {
	days := r.Windows[t.Format].View
	if t.Kind == event.Click {
		days = r.Windows[t.Format].Click
	}
	last := t.Millis + int64(days)*24*60*60*1000
	return days > 0 && t.Millis <= millis && millis <= last
}

// TestRandomJourneys compares decisions about random journeys with the naive implementation, for all rules. Times lie
// at the edges of windows. Events that arrive in another order, or twice, must not change what is credited.
func TestRandomJourneys(t *testing.T) {
	journeys := 1_000_000
	if testing.Short() {
		journeys = 50_000
	}
	seed := rand.Uint64()
	t.Attr("seed", strconv.FormatUint(seed, 10))
	rng := rand.New(rand.NewPCG(seed, 1))
	for range journeys {
		rules := RulesOf(model.Attribution(rng.IntN(model.Attributions)))
		millis := int64(100 * dayMillis)
		touches := randomTouches(rng, millis)
		items := []Item{randomItem(rng), randomItem(rng)}
		got := rules.Decide(touches, millis, items)
		for i, item := range items {
			if want := naive(&rules, touches, millis, item); got[i] != want {
				t.Fatalf("%+v\n%+v\nbuys %+v: %+v, not %+v", rules, touches, item, got[i], want)
			}
		}
		again := slices.Clone(touches)
		if len(again) > 0 {
			again = append(again, again[rng.IntN(len(again))])
		}
		rng.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		for i, c := range rules.Decide(again, millis, items) {
			if (c.Touch < 0) != (got[i].Touch < 0) || c.Halo != got[i].Halo || c.Touch >= 0 && again[c.Touch] != touches[got[i].Touch] {
				t.Fatalf("%+v\nbuys %+v: in another order %+v, not %+v", touches, items[i], c, got[i])
			}
		}
	}
}

func randomTouches(rng *rand.Rand, millis int64) []Touch {
	touches := make([]Touch, rng.IntN(6))
	for i := range touches {
		edge := []int64{0, 1, 7, 14, 30, 31}[rng.IntN(6)] * dayMillis
		touches[i] = Touch{
			Kind:    []event.Kind{event.Impression, event.Click}[rng.IntN(2)],
			Format:  model.AdFormat(rng.IntN(model.AdFormats)),
			Millis:  millis - edge + int64(rng.IntN(3)) - 1,
			Product: []string{"", "p1", "p2"}[rng.IntN(3)], Vendor: []string{"v1", "v2"}[rng.IntN(2)],
			Key: [8]byte{byte(rng.IntN(3)), byte(i)},
		}
	}
	return touches
}

func randomItem(rng *rand.Rand) Item {
	return Item{Product: []string{"p1", "p2", "p3"}[rng.IntN(3)], Vendor: []string{"", "v1", "v2"}[rng.IntN(3)]}
}

func TestOrderOfCredit(t *testing.T) {
	const now = 50 * dayMillis
	touch := func(kind event.Kind, format model.AdFormat, daysAgo int64, product, vendor string) Touch {
		return Touch{Kind: kind, Format: format, Millis: now - daysAgo*dayMillis, Product: product, Vendor: vendor}
	}
	shoe := Item{Product: "shoe", Vendor: "acme"}
	f := func(why string, p model.Attribution, item Item, want Credit, touches ...Touch) {
		t.Helper()
		rules := RulesOf(p)
		if got := rules.Decide(touches, now, []Item{item})[0]; got != want {
			t.Errorf("%s: %+v, not %+v", why, got, want)
		}
	}
	f("the product beats its vendor, even a click of it", model.AttributionStandard, shoe, Credit{Touch: 1},
		touch(event.Click, model.Listing, 1, "hat", "acme"), touch(event.Impression, model.Listing, 2, "shoe", "acme"))
	f("a click beats a later impression", model.AttributionStandard, shoe, Credit{Touch: 0},
		touch(event.Click, model.Listing, 3, "shoe", "acme"), touch(event.Impression, model.Listing, 1, "shoe", "acme"))
	f("the later of two clicks", model.AttributionStandard, shoe, Credit{Touch: 1},
		touch(event.Click, model.Listing, 3, "shoe", "acme"), touch(event.Click, model.Listing, 2, "shoe", "acme"))
	f("halo", model.AttributionStandard, shoe, Credit{Touch: 0, Halo: true}, touch(event.Click, model.Banner, 29, "", "acme"))
	f("no halo without a vendor in the purchase", model.AttributionStandard, Item{Product: "shoe"}, Credit{Touch: -1},
		touch(event.Click, model.Banner, 29, "", "acme"))
	f("the last millisecond of the window", model.AttributionStandard, shoe, Credit{Touch: 0}, touch(event.Click, model.Listing, 7, "shoe", "acme"))
	early := touch(event.Click, model.Listing, 7, "shoe", "acme")
	early.Millis--
	f("a millisecond before the window", model.AttributionStandard, shoe, Credit{Touch: -1}, early)
	f("a touch after the purchase", model.AttributionStandard, shoe, Credit{Touch: -1}, touch(event.Click, model.Listing, -1, "shoe", "acme"))
	f("reference has no halo", model.AttributionReference, shoe, Credit{Touch: -1}, touch(event.Click, model.Listing, 1, "hat", "acme"))
	f("a banner is of no product, and credited by its vendor", model.AttributionReference, shoe, Credit{Touch: 0, Halo: true},
		touch(event.Impression, model.Banner, 30, "", "acme"))
	f("an impression of a listing", model.AttributionLongClick, shoe, Credit{Touch: -1}, touch(event.Impression, model.Listing, 0, "shoe", "acme"))
	f("a banner one day after an impression", model.AttributionLongClick, shoe, Credit{Touch: 0, Halo: true}, touch(event.Impression, model.Banner, 1, "", "acme"))
	f("a click of two weeks ago", model.AttributionLongClick, shoe, Credit{Touch: 0}, touch(event.Click, model.Listing, 14, "shoe", "acme"))
	f("reference prefers listings", model.AttributionReference, shoe, Credit{Touch: 0},
		touch(event.Click, model.Listing, 6, "shoe", "acme"), touch(event.Click, model.Banner, 1, "shoe", "acme"))
	f("the last touch of amazon may be an impression", model.AttributionAmazon, shoe, Credit{Touch: 1},
		touch(event.Click, model.Listing, 6, "shoe", "acme"), touch(event.Impression, model.Banner, 1, "shoe", "acme"))
}
