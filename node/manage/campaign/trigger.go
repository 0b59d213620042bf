package campaign

import (
	"slices"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/market"
)

// Trigger is one condition under which a bid competes.
type Trigger struct {
	Type  string       `json:"type" enum:"product,category,categories" doc:"This build has no keyword triggers."`
	Value TriggerValue `json:"value"`
}

// TriggerValue has one member, by the trigger's type.
type TriggerValue struct {
	ProductID   string `json:"productId,omitempty" maxLength:"255" doc:"Type product."`
	CategoryID  string `json:"categoryId,omitempty" maxLength:"255" doc:"Type category."`
	FromProduct string `json:"fromProduct,omitempty" maxLength:"255" doc:"Type categories: all categories of this product."`
}

// triggersMax bounds the triggers of a bid that are given. BOUND: of the interface.
const triggersMax = 50

// marketTriggers reads the triggers of a bid, given in either form; nil means none were given.
func marketTriggers(all []Trigger, one *Trigger, at []any) (triggers []market.Trigger, found []resource.Violation) {
	if one != nil {
		all = append(slices.Clip(all), *one)
	}
	if len(all) > triggersMax {
		loc := append(append([]any{}, at...), "triggers")
		return nil, []resource.Violation{resource.At("too_long", "must have at most 50 items, trigger included", loc...)}
	}
	for i, t := range all {
		kind, member, value := market.TriggerProduct, "productId", t.Value.ProductID
		switch t.Type {
		case "category":
			kind, member, value = market.TriggerCategory, "categoryId", t.Value.CategoryID
		case "categories":
			kind, member, value = market.TriggerCategories, "fromProduct", t.Value.FromProduct
		}
		if value == "" {
			loc := append(append([]any{}, at...), "triggers", i, "value", member)
			found = append(found, resource.At("missing", "required", loc...))
			continue
		}
		triggers = append(triggers, market.Trigger{Kind: kind, Value: value})
	}
	return triggers, found
}

// withDefaults makes a listing bid found by product and by category auctions: always when it has no triggers of its own,
// and beside them when the campaign says so.
func withDefaults(triggers []market.Trigger, target string, auto bool) []market.Trigger {
	if len(triggers) > 0 && !auto {
		return triggers
	}
	for _, t := range []market.Trigger{{Kind: market.TriggerProduct, Value: target}, {Kind: market.TriggerCategories, Value: target}} {
		same := func(x market.Trigger) bool { return x.Kind == t.Kind && x.Value == t.Value }
		if !slices.ContainsFunc(triggers, same) {
			triggers = append(triggers, t)
		}
	}
	return triggers
}

func triggersOf(all []market.Trigger) []Trigger {
	triggers := make([]Trigger, len(all))
	for i, t := range all {
		switch t.Kind {
		case market.TriggerProduct:
			triggers[i] = Trigger{"product", TriggerValue{ProductID: t.Value}}
		case market.TriggerCategory:
			triggers[i] = Trigger{"category", TriggerValue{CategoryID: t.Value}}
		case market.TriggerCategories:
			triggers[i] = Trigger{"categories", TriggerValue{FromProduct: t.Value}}
		}
	}
	return triggers
}
