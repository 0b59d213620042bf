package models

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
)

const dayMillis = 24 * 3600 * 1000

// naivePath is a second implementation of the path of an item: it goes through the order stage by stage.
func naivePath(r *attribution.Rules, touches []attribution.Touch, millis int64, item attribution.Item) (path []attribution.Touch) {
	for _, halo := range []bool{false, true} {
		for _, t := range touches {
			days := r.Windows[t.Format].View
			if t.Kind == event.Click {
				days = r.Windows[t.Format].Click
			}
			in := days > 0 && t.Millis <= millis && millis-t.Millis <= int64(days)*dayMillis
			of := item.Product != "" && t.Product == item.Product
			if halo {
				of = item.Vendor != "" && t.Vendor == item.Vendor && (r.Halo || t.Product == "")
			}
			if in && of && !slices.Contains(path, t) {
				path = append(path, t)
			}
		}
		if len(path) > 0 {
			break
		}
	}
	only := func(preferred func(t attribution.Touch) bool) {
		if slices.ContainsFunc(path, preferred) {
			path = slices.DeleteFunc(path, func(t attribution.Touch) bool { return !preferred(t) })
		}
	}
	if r.ListingsFirst {
		only(func(t attribution.Touch) bool { return t.Format == model.Listing })
	}
	if !r.LastTouch {
		only(func(t attribution.Touch) bool { return t.Kind == event.Click })
	}
	slices.SortFunc(path, func(a, b attribution.Touch) int {
		for _, d := range []int64{
			a.Millis - b.Millis, int64(formatRank[a.Format] - formatRank[b.Format]), int64(a.Kind) - int64(b.Kind),
		} {
			if d != 0 {
				return int(max(-1, min(1, d)))
			}
		}
		return bytes.Compare(a.Key[:], b.Key[:])
	})
	return path
}

var formatRank = [model.AdFormats]int{model.Listing: 2, model.SponsoredBrand: 1, model.Banner: 0}

// naiveShares is a second implementation of the models: the exact share of each touch of a path.
func naiveShares(m Model, n int) []*big.Rat {
	all := make([]*big.Rat, n)
	for i := range all {
		all[i] = new(big.Rat)
	}
	if n == 0 {
		return all
	}
	switch {
	case m == First:
		all[0].SetInt64(1)
	case m == Linear:
		for i := range all {
			all[i].SetFrac64(1, int64(n))
		}
	case m == Position && n == 2:
		all[0].SetFrac64(1, 2)
		all[1].SetFrac64(1, 2)
	case m == Position && n > 2:
		for i := range all {
			all[i].SetFrac64(20, 100*int64(n-2))
		}
		all[0].SetFrac64(40, 100)
		all[n-1].SetFrac64(40, 100)
	default:
		all[n-1].SetInt64(1)
	}
	return all
}

// naiveRules are the rules of a model.
func naiveRules(m Model, name model.Attribution, other attribution.Window) attribution.Rules {
	r := attribution.RulesOf(name)
	for f := range r.Windows {
		switch m {
		case ViewOnly:
			r.Windows[f].Click = 0
		case OtherWindows:
			r.Windows[f] = other
		default:
		}
	}
	return r
}

// TestRandomJourneys compares the parts of random journeys with the naive implementation, for all rules and models: at the edges
// of windows, with repeated touches, in any order.
func TestRandomJourneys(t *testing.T) {
	journeys := 300_000
	if testing.Short() {
		journeys = 20_000
	}
	seed := rand.Uint64()
	t.Attr("seed", strconv.FormatUint(seed, 10))
	rng := rand.New(rand.NewPCG(seed, 2))
	for range journeys {
		name := model.Attribution(rng.IntN(model.Attributions))
		other := attribution.Window{Click: uint8(rng.IntN(3) * 15), View: uint8(rng.IntN(3) * 14)}
		millis := int64(100 * dayMillis)
		touches := randomTouches(rng, millis)
		items := []attribution.Item{randomItem(rng), randomItem(rng)}
		j := NewJourneys(attribution.RulesOf(name), other)
		parts := j.Divide(touches, millis, items)
		for m := range Model(Models) {
			rules := naiveRules(m, name, other)
			for i, item := range items {
				checkParts(t, m, touches, parts[m][i], naivePath(&rules, touches, millis, item))
			}
		}
	}
}

// checkParts compares the parts of an item with the shares of its path.
func checkParts(t *testing.T, m Model, touches []attribution.Touch, got []Part, path []attribution.Touch) {
	t.Helper()
	total := uint64(0)
	for _, p := range got {
		total += p.Weight
	}
	shares := make([]*big.Rat, len(path))
	for i := range path {
		shares[i] = new(big.Rat)
		for _, p := range got {
			if touches[p.Touch] == path[i] {
				shares[i].Add(shares[i], new(big.Rat).SetFrac(new(big.Int).SetUint64(p.Weight), new(big.Int).SetUint64(total)))
			}
		}
	}
	want := naiveShares(m, len(path))
	if (len(got) == 0) != (len(path) == 0) || !slices.EqualFunc(shares, want, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 }) {
		t.Fatalf("%s divides %+v\nas %+v\nthe path is %+v with the shares %v, not %v", m, touches, got, path, want, shares)
	}
}

func randomTouches(rng *rand.Rand, millis int64) []attribution.Touch {
	touches := make([]attribution.Touch, rng.IntN(8))
	for i := range touches {
		edge := []int64{0, 1, 7, 14, 15, 28, 30, 31}[rng.IntN(8)] * dayMillis
		touches[i] = attribution.Touch{
			Kind:    []event.Kind{event.Impression, event.Click}[rng.IntN(2)],
			Format:  model.AdFormat(rng.IntN(model.AdFormats)),
			Millis:  millis - edge + int64(rng.IntN(3)) - 1,
			Product: []string{"", "p1", "p2"}[rng.IntN(3)], Vendor: []string{"v1", "v2"}[rng.IntN(2)],
			Key: [8]byte{byte(rng.IntN(3)), byte(i)},
		}
	}
	if n := len(touches); n > 1 && rng.IntN(2) == 0 {
		touches[0] = touches[n-1]
	}
	return touches
}

func randomItem(rng *rand.Rand) attribution.Item {
	return attribution.Item{Product: []string{"", "p1", "p2", "p3"}[rng.IntN(4)], Vendor: []string{"", "v1", "v2"}[rng.IntN(3)]}
}

// The standard model is the last touch of the path of the other models: the two ways to find it agree.
func TestTheStandardModelIsTheLastOfThePath(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		millis := int64(100 * dayMillis)
		touches, items := randomTouches(rng, millis), []attribution.Item{randomItem(rng)}
		j := NewJourneys(attribution.RulesOf(model.Attribution(rng.IntN(model.Attributions))), attribution.Window{})
		parts := j.Divide(touches, millis, items)
		standard, linear := parts[Standard][0], parts[Linear][0]
		switch {
		case len(standard) == 0 && len(linear) == 0:
		case len(standard) != 1 || len(linear) == 0 || touches[standard[0].Touch] != touches[linear[len(linear)-1].Touch]:
			t.Fatalf("%+v: standard %+v, linear %+v", touches, standard, linear)
		}
	}
}

// Parts add up to the amount, to the unit, and each is less than a unit away from its exact share.
func TestSplitsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100_000 {
		parts := make([]Part, 1+rng.IntN(9))
		total := uint64(0)
		for i := range parts {
			parts[i].Weight = uint64(rng.IntN(7))
			total += parts[i].Weight
		}
		if total == 0 {
			parts[0].Weight, total = 1, 1
		}
		amount := rng.Int64() >> rng.IntN(63)
		sum := int64(0)
		for i, got := range Split(amount, parts) {
			sum += got
			exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(amount), new(big.Int).SetUint64(parts[i].Weight)), new(big.Int).SetUint64(total))
			off := exact.Sub(exact, new(big.Rat).SetInt64(got))
			if off.Abs(off).Cmp(big.NewRat(1, 1)) >= 0 {
				t.Fatalf("part %d of %d in %+v is %d, %s away from its share", i, amount, parts, got, off)
			}
		}
		if sum != amount {
			t.Fatalf("%+v of %d add up to %d", parts, amount, sum)
		}
	}
}

// What the models do with one journey, for the reader.
func TestModels(t *testing.T) {
	const now = 50 * dayMillis
	click := func(daysAgo int64, key byte) attribution.Touch {
		return attribution.Touch{
			Kind: event.Click, Format: model.Listing, Millis: now - daysAgo*dayMillis, Product: "shoe", Vendor: "acme", Key: [8]byte{key},
		}
	}
	seen := click(2, 9)
	seen.Kind = event.Impression
	touches := []attribution.Touch{click(10, 1), click(6, 2), click(5, 3), click(4, 4), seen, click(3, 5)}
	j := NewJourneys(attribution.RulesOf(model.AttributionStandard), attribution.Window{Click: 4})
	parts := j.Divide(touches, now, []attribution.Item{{Product: "shoe", Vendor: "acme"}})
	for m, want := range [Models][]Part{
		Standard:     {{5, 1}}, // The click of 10 days ago is out of the window of 7 days; an impression does not beat a click.
		First:        {{1, 1}},
		Linear:       {{1, 1}, {2, 1}, {3, 1}, {5, 1}},
		Position:     {{1, 4}, {2, 1}, {3, 1}, {5, 4}},
		ViewOnly:     {{4, 1}},
		OtherWindows: {{5, 1}},
	} {
		if got := parts[m][0]; !slices.Equal(got, want) {
			t.Errorf("%s: %+v, not %+v", Model(m), got, want)
		}
	}
}
