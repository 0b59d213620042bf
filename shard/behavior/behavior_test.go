package behavior_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gavel-ads/gavel/shard/behavior"
	"github.com/gavel-ads/gavel/shard/event"
)

const day = 24 * 3600 * 1000

func clicks(days, value int, operator string, parameters ...behavior.Parameter) behavior.Behavior {
	return behavior.Behavior{
		Logic: "and", ActionType: "clicks", TimeWindow: behavior.Window{Value: days},
		Frequency: behavior.Frequency{Value: value, Operator: operator}, Parameters: parameters,
	}
}

func of(all ...behavior.Behavior) *behavior.Definition { return &behavior.Definition{Behaviors: all} }

func or(b behavior.Behavior) behavior.Behavior {
	b.Logic = "or"
	return b
}

func click(millis int64) behavior.Action { return behavior.Action{Kind: event.Click, Millis: millis} }

// Each operator, with the actions of a user and when the answer changes next.
func TestOperators(t *testing.T) {
	const now = 100 * day
	two := []behavior.Action{click(now - day), click(now)} // The first leaves a window of three days two days from now.
	for _, x := range []struct {
		operator string
		value    int
		member   bool
		changes  int64
	}{
		{"gt", 1, true, now + 2*day},
		{"gt", 2, false, 0},
		{"gte", 1, true, now + 3*day},
		{"gte", 2, true, now + 2*day},
		{"gte", 3, false, 0},
		{"lt", 3, true, now + 30*day}, // Then the user is not known any more.
		{"lt", 2, false, now + 2*day},
		{"lte", 1, false, now + 2*day},
		{"lte", 0, false, now + 3*day},
		{"eq", 2, true, now + 2*day},
		{"eq", 1, false, now + 2*day},
		{"eq", 0, false, now + 3*day},
		{"eq", 3, false, 0},
	} {
		member, changes := of(clicks(3, x.value, x.operator)).Evaluate(two, now)
		if member != x.member || changes != x.changes {
			t.Errorf("%s %d: %t until %d, want %t until %d", x.operator, x.value, member, changes-now, x.member, x.changes-now)
		}
	}
}

// An action counts until exactly the end of its window.
func TestWindowsEndToTheMillisecond(t *testing.T) {
	d, did := of(clicks(1, 1, "gte")), []behavior.Action{click(5 * day)}
	for millis, want := range map[int64]bool{5 * day: true, 6*day - 1: true, 6 * day: false, 6*day + 1: false} {
		if member, _ := d.Evaluate(did, millis); member != want {
			t.Errorf("%d ms after the click: member is %t, want %t", millis-5*day, member, want)
		}
	}
}

// Behaviors are combined from left to right, and the logic of the first has no effect.
func TestLogic(t *testing.T) {
	yes, no := clicks(1, 1, "gte"), clicks(1, 1, "gt")
	for _, x := range []struct {
		d    *behavior.Definition
		want bool
	}{
		{of(yes), true},
		{of(or(no)), false},
		{of(yes, no), false},
		{of(yes, or(no)), true},
		{of(no, yes), false},
		{of(no, or(yes)), true},
		{of(yes, or(no), no), false},
		{of(no, no, or(yes)), true},
		{of(), false},
	} {
		if member, _ := x.d.Evaluate([]behavior.Action{click(day)}, day); member != x.want {
			t.Errorf("%+v: member is %t, want %t", x.d, member, x.want)
		}
	}
}

// All parameters have to be satisfied by one and the same item.
func TestParameters(t *testing.T) {
	vendor := behavior.Parameter{EntityType: "vendor", EntityList: []string{"v1", "v2"}}
	product := behavior.Parameter{EntityType: "product", EntityList: []string{"p1"}}
	category := behavior.Parameter{EntityType: "category", EntityList: []string{"shoes"}}
	bought := func(all ...behavior.Entity) behavior.Action {
		return behavior.Action{Kind: event.Purchase, Subjects: all}
	}
	for _, x := range []struct {
		name       string
		parameters []behavior.Parameter
		action     behavior.Action
		want       bool
	}{
		{"no parameters", nil, bought(), true},
		{"a vendor of the list", []behavior.Parameter{vendor}, bought(behavior.Entity{Vendors: []string{"v2"}}), true},
		{"another vendor", []behavior.Parameter{vendor}, bought(behavior.Entity{Vendors: []string{"v3"}}), false},
		{"the second item", []behavior.Parameter{product}, bought(behavior.Entity{Product: "p2"}, behavior.Entity{Product: "p1"}), true},
		{"a category", []behavior.Parameter{category}, bought(behavior.Entity{Categories: []string{"all", "shoes"}}), true},
		{
			"two items with one half each",
			[]behavior.Parameter{vendor, product},
			bought(behavior.Entity{Product: "p1", Vendors: []string{"v3"}}, behavior.Entity{Product: "p2", Vendors: []string{"v1"}}), false,
		},
		{"one item with both", []behavior.Parameter{vendor, product}, bought(behavior.Entity{Product: "p1", Vendors: []string{"v1"}}), true},
		{"an ad of no product", []behavior.Parameter{product}, bought(behavior.Entity{Vendors: []string{"v1"}}), false},
	} {
		b := clicks(1, 1, "gte", x.parameters...)
		b.ActionType = "purchases"
		if member, _ := of(b).Evaluate([]behavior.Action{x.action}, 0); member != x.want {
			t.Errorf("%s: member is %t, want %t", x.name, member, x.want)
		}
	}
}

// Where a user belongs who did nothing that is counted, an action of any kind makes the user known, for 30 days.
func TestOnlyKnownUsersBelong(t *testing.T) {
	d := of(clicks(7, 0, "eq"))
	if !d.AdmitsIdle() || d.Kinds() != 7 || of(clicks(7, 1, "gte")).Kinds() != 1<<event.Click {
		t.Error("the kinds of actions that are watched")
	}
	seen := []behavior.Action{{Kind: event.Impression, Millis: day}}
	if member, changes := d.Evaluate(seen, 2*day); !member || changes != 31*day {
		t.Errorf("a user who saw an ad: %t until %d", member, changes)
	}
	if member, changes := d.Evaluate(seen, 31*day); member || changes != 0 {
		t.Errorf("30 days later: %t until %d", member, changes)
	}
	if member, _ := d.Evaluate(nil, 2*day); member {
		t.Error("a user who did nothing belongs")
	}
}

// Evaluate agrees with counting at every moment at which something may change.
func TestEvaluateAgreesWithCounting(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 18))
	operators, types := []string{"gt", "gte", "lt", "lte", "eq"}, []string{"impressions", "clicks", "purchases"}
	for n := range 3_000 {
		d := &behavior.Definition{}
		for range 1 + random.IntN(5) {
			d.Behaviors = append(d.Behaviors, behavior.Behavior{
				Logic: []string{"and", "or"}[random.IntN(2)], ActionType: types[random.IntN(3)],
				TimeWindow: behavior.Window{Value: 1 + random.IntN(30)},
				Frequency:  behavior.Frequency{Value: random.IntN(4), Operator: operators[random.IntN(5)]},
			})
		}
		now := int64(100 * day)
		var actions []behavior.Action
		for range random.IntN(8) {
			actions = append(actions, behavior.Action{Kind: event.Kind(random.IntN(3)), Millis: now - random.Int64N(40)*day})
		}
		member, changes := d.Evaluate(actions, now)
		if want := counted(d, actions, now); member != want {
			t.Fatalf("%d: %+v of %+v is %t, want %t", n, d, actions, member, want)
		}
		for at := now; at < now+31*day; at += day { // Everything begins and ends at midnight.
			if changed := changes != 0 && at >= changes; !changed && counted(d, actions, at) != member || at == changes && counted(d, actions, at) == member {
				t.Fatalf("%d: %+v of %+v changes at %d, not at %d", n, d, actions, changes/day, at/day)
			}
		}
	}
}

// counted is the second implementation: it counts anew for a moment.
func counted(d *behavior.Definition, actions []behavior.Action, at int64) (result bool) {
	within := func(kind string, days int) (n int) {
		for i := range actions {
			if fmt.Sprint(actions[i].Kind) == kind && actions[i].Millis > at-int64(days)*day {
				n++
			}
		}
		return n
	}
	for i, b := range d.Behaviors {
		n, of := within(b.ActionType, b.TimeWindow.Value), b.Frequency.Value
		holds := map[string]bool{"gt": n > of, "gte": n >= of, "lt": n < of, "lte": n <= of, "eq": n == of}[b.Frequency.Operator]
		switch {
		case i == 0:
			result = holds
		case b.Logic == "or":
			result = result || holds
		default:
			result = result && holds
		}
	}
	return result && within("impressions", 30)+within("clicks", 30)+within("purchases", 30) > 0
}
