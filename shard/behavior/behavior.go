// Package behavior decides who belongs to a dynamic segment: it compares what a user did with the definition of the
// segment. It is a pure function of the definition, the user's actions and a time.
package behavior

import (
	"slices"

	"github.com/gavel-ads/gavel/shard/event"
)

// dayMillis is a day of a window. Windows are multiples of 24 hours, not calendar days.
const dayMillis = 24 * 3600 * 1000

// KnownDays is how long an action makes its user known. A condition such as "no clicks" holds for everybody, and nobody
// can list everybody: only users with an action within this time may belong to a segment. It is the longest window.
const KnownDays = 30

// Definition says who belongs to a segment. Its behaviors are combined from left to right: the second with the first by
// the second's logic, the third with the result by its own, and so on. The logic of the first has no effect.
type Definition struct {
	Behaviors []Behavior `json:"behaviors"`
}

// Behavior is a condition on how often a user did something.
type Behavior struct {
	Logic      string      `json:"logic"`       // "and" or "or".
	ActionType string      `json:"action_type"` // "impressions", "clicks" or "purchases".
	TimeWindow Window      `json:"time_window"`
	Frequency  Frequency   `json:"frequency"`
	Parameters []Parameter `json:"parameters"`
}

// Window is a span of time that ends at the evaluation.
type Window struct {
	Value int `json:"value"` // Days, 1 to KnownDays.
}

// Frequency is a condition on a number of actions.
type Frequency struct {
	Value    int    `json:"value"`
	Operator string `json:"operator"` // "gt", "gte", "lt", "lte" or "eq".
}

// Parameter limits a behavior to actions on some vendors, products or categories.
type Parameter struct {
	EntityType string   `json:"entity_type"` // "vendor", "product" or "category".
	EntityList []string `json:"entity_list"`
}

// Action is an impression or click of an ad, or a purchase.
type Action struct {
	Kind     event.Kind
	Millis   int64    // When it occurred.
	Subjects []Entity // Of an ad one, of a purchase one for each item.
}

// Entity is what was seen, clicked or bought.
type Entity struct {
	Product    string // Empty for an ad of no single product.
	Vendors    []string
	Categories []string // Those of the product and those above them.
}

// kind returns the kind of the actions that a behavior counts.
func (b *Behavior) kind() event.Kind {
	switch b.ActionType {
	case "clicks":
		return event.Click
	case "purchases":
		return event.Purchase
	default:
		return event.Impression
	}
}

// windowMillis returns how long an action counts.
func (b *Behavior) windowMillis() int64 { return int64(b.TimeWindow.Value) * dayMillis }

// counts reports whether an action is one that a behavior counts: its kind, and a subject that satisfies all parameters.
func (b *Behavior) counts(a *Action) bool {
	return a.Kind == b.kind() && (len(b.Parameters) == 0 || slices.ContainsFunc(a.Subjects, b.admits))
}

func (b *Behavior) admits(e Entity) bool {
	return !slices.ContainsFunc(b.Parameters, func(p Parameter) bool { return !p.names(&e) })
}

// names reports whether an entity is in the list of a parameter.
func (p *Parameter) names(e *Entity) bool {
	listed := func(id string) bool { return slices.Contains(p.EntityList, id) }
	switch p.EntityType {
	case "vendor":
		return slices.ContainsFunc(e.Vendors, listed)
	case "category":
		return slices.ContainsFunc(e.Categories, listed)
	default:
		return listed(e.Product)
	}
}

// holds reports whether a number satisfies a frequency.
func (f *Frequency) holds(n int) bool {
	switch f.Operator {
	case "gt":
		return n > f.Value
	case "gte":
		return n >= f.Value
	case "lt":
		return n < f.Value
	case "lte":
		return n <= f.Value
	default:
		return n == f.Value
	}
}

// hold combines the behaviors, of which each has been counted.
func (d *Definition) hold(counts []int) bool {
	result := false
	for i := range d.Behaviors {
		b := &d.Behaviors[i]
		holds := b.Frequency.holds(counts[i])
		switch {
		case i == 0:
			result = holds
		case b.Logic == "or":
			result = result || holds
		default:
			result = result && holds
		}
	}
	return result
}

// AdmitsIdle reports whether users belong to the segment who did nothing of what the definition counts.
func (d *Definition) AdmitsIdle() bool { return d.hold(make([]int, len(d.Behaviors))) }

// Kinds returns the kinds of actions after which users have to be evaluated, one bit for each (1 << event.Kind). Where
// users belong who did nothing of what is counted, any action makes its user known, so all kinds are returned.
func (d *Definition) Kinds() (kinds uint8) {
	if d.AdmitsIdle() {
		return 1<<event.Impression | 1<<event.Click | 1<<event.Purchase
	}
	for i := range d.Behaviors {
		kinds |= 1 << d.Behaviors[i].kind()
	}
	return kinds
}

// Days returns for how many days actions may make a difference.
func (d *Definition) Days() (days int) {
	if d.AdmitsIdle() {
		return KnownDays
	}
	for i := range d.Behaviors {
		days = max(days, d.Behaviors[i].TimeWindow.Value)
	}
	return days
}

// UsesCatalog reports whether a definition names vendors or categories, so that those of products are needed.
func (d *Definition) UsesCatalog() bool {
	return slices.ContainsFunc(d.Behaviors, func(b Behavior) bool {
		return slices.ContainsFunc(b.Parameters, func(p Parameter) bool { return p.EntityType != "product" })
	})
}
