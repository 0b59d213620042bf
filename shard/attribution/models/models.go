// Package models divides the items of a purchase among the touches before it by other models than the last touch, so that
// the sales of campaigns can be compared between models. Like package attribution it is a pure function of the touches, the
// purchase and the rules.
//
// All models share the rules of the marketplace: the windows, the product before its vendor, clicks before impressions,
// listings first. The path of an item are the touches that remain then, which only time sets apart; they are what a model
// divides the item among. So the last touch of the path is the one that the marketplace credits, and a model changes who gets
// an item and never whether somebody does, but for two: ViewOnly ignores clicks, and OtherWindows has other windows.
package models

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/attribution"
)

// Model is a way to divide an item among the touches of its path.
type Model uint8

// The models.
const (
	Standard     Model = iota // The last touch of the path: what the marketplace credits.
	First                     // The first touch of the path.
	Linear                    // All touches of the path, in equal parts.
	Position                  // 40 % the first touch, 40 % the last, 20 % those between; of two touches each a half.
	ViewOnly                  // The last touch of the path, as if there were no clicks.
	OtherWindows              // The last touch of the path, with the windows of Journeys.
	Models       = int(OtherWindows) + 1
)

var names = [Models]string{"standard", "firstClick", "linear", "position", "viewOnly", "otherWindows"}

// String returns the name of the model, as the API has it.
func (m Model) String() string { return names[m] }

// Part is what a touch gets of an item: Weight parts of the sum of the weights of all parts.
type Part struct {
	Touch  int // Index of the touch.
	Weight uint64
}

// Journeys makes the parts of purchases under the rules of a marketplace.
type Journeys struct {
	rules [Models]attribution.Rules
}

// NewJourneys returns the journeys under some rules. other are the windows of OtherWindows for each format.
func NewJourneys(rules attribution.Rules, other attribution.Window) Journeys {
	var j Journeys
	for m := range j.rules {
		j.rules[m] = rules
	}
	for f := range rules.Windows {
		j.rules[ViewOnly].Windows[f].Click = 0
		j.rules[OtherWindows].Windows[f] = other
	}
	return j
}

// LongestDays returns the longest window of all models in days.
func (j *Journeys) LongestDays() (days int) {
	for m := range j.rules {
		days = max(days, j.rules[m].LongestDays())
	}
	return days
}

// Divide returns for each model and item of a purchase which touches get it: its parts, oldest touch first, or none when
// nobody gets it. Repeated touches, and the order of the touches, make no difference.
func (j *Journeys) Divide(touches []attribution.Touch, millis int64, items []attribution.Item) (parts [Models][][]Part) {
	for m := range parts {
		rules := &j.rules[m]
		parts[m] = make([][]Part, len(items))
		if Model(m) == Standard { // The very function that credits purchases.
			for i, c := range rules.Decide(touches, millis, items) {
				if c.Touch >= 0 {
					parts[m][i] = []Part{{c.Touch, 1}}
				}
			}
			continue
		}
		p := newPaths(rules, touches, millis)
		for i := range items {
			parts[m][i] = divide(Model(m), p.of(&items[i]))
		}
	}
	return parts
}

// divide divides an item among the touches of a path, which are in the order of their times.
func divide(m Model, path []int) []Part {
	n := len(path)
	if n == 0 {
		return nil
	}
	switch m {
	case First:
		return []Part{{path[0], 1}}
	case Linear, Position:
		parts := make([]Part, n)
		for i, touch := range path {
			parts[i] = Part{touch, 1}
		}
		if between := uint64(n - 2); m == Position && n > 2 {
			// Each of those between has one part, together 20 %; the two ends have 40 % each.
			parts[0].Weight, parts[n-1].Weight = 2*between, 2*between
		}
		return parts
	default:
		return []Part{{path[n-1], 1}}
	}
}

// paths are the touches that may be credited with a purchase, by what they are of.
type paths struct {
	rules               *attribution.Rules
	touches             []attribution.Touch
	byProduct, byVendor map[string][]int
}

func newPaths(rules *attribution.Rules, touches []attribution.Touch, millis int64) *paths {
	p := &paths{rules, touches, map[string][]int{}, map[string][]int{}}
	for i := range touches {
		t := &touches[i]
		if !rules.Considers(t, millis) {
			continue
		}
		if t.Product != "" {
			p.byProduct[t.Product] = append(p.byProduct[t.Product], i)
		}
		if t.Vendor != "" && (rules.Halo || t.Product == "") {
			p.byVendor[t.Vendor] = append(p.byVendor[t.Vendor], i)
		}
	}
	for _, by := range []map[string][]int{p.byProduct, p.byVendor} {
		for of := range by { // order: each is reduced by itself.
			by[of] = p.peers(by[of])
		}
	}
	return p
}

// peers sorts touches from the first to the strongest, and keeps those that only time sets apart from the strongest.
func (p *paths) peers(all []int) []int {
	slices.SortFunc(all, func(a, b int) int { return p.rules.Compare(&p.touches[a], &p.touches[b]) })
	all = slices.CompactFunc(all, func(a, b int) bool { return p.touches[a] == p.touches[b] })
	strongest := &p.touches[all[len(all)-1]]
	return slices.DeleteFunc(all, func(i int) bool { return !p.rules.Peers(&p.touches[i], strongest) })
}

// of returns the path of an item. Touches of its product are preferred to those of its vendor.
func (p *paths) of(item *attribution.Item) []int {
	if path := p.byProduct[item.Product]; len(path) > 0 && item.Product != "" {
		return path
	}
	if item.Vendor == "" {
		return nil
	}
	return p.byVendor[item.Vendor]
}
