package campaign

import (
	"slices"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/keyword"
	"github.com/gavel-ads/gavel/shard/model"
)

// Trigger is one condition under which a bid competes.
type Trigger struct {
	Type  string       `json:"type" enum:"product,category,categories,keyword"`
	Value TriggerValue `json:"value"`
}

// TriggerValue has the members of the trigger's type.
type TriggerValue struct {
	ProductID   string   `json:"productId,omitempty" maxLength:"255" doc:"Type product."`
	CategoryID  string   `json:"categoryId,omitempty" maxLength:"255" doc:"Type category."`
	FromProduct string   `json:"fromProduct,omitempty" maxLength:"255" doc:"Type categories: all categories of this product."`
	Words       []string `json:"words,omitempty" minItems:"1" maxItems:"20" minLength:"1" maxLength:"64" doc:"Type keyword. Compared without case after Unicode NFKC, split at what is neither letter nor digit."`
	MatchType   string   `json:"matchType,omitempty" enum:"exact,phrase,broad,negative_exact,negative_broad" doc:"Type keyword, default exact: same words, same order; phrase: contained in order; broad: all contained. The negative ones exclude the bid from searches that match."`
}

// triggersMax is the most triggers of a bid, without default triggers. BOUND: the interface's.
const triggersMax = 50

// matchTypes maps the match types of keywords to the engine's kinds of triggers.
var matchTypes = []struct {
	matchType string
	kind      model.TriggerKind
}{
	{"exact", model.TriggerExact},
	{"phrase", model.TriggerPhrase},
	{"broad", model.TriggerBroad},
	{"negative_exact", model.TriggerNotExact},
	{"negative_broad", model.TriggerNotBroad},
}

// marketTriggers reads the triggers of a bid in both forms. Nil means that the request has none.
func marketTriggers(all []Trigger, one *Trigger, at []any) (triggers []model.Trigger, found []resource.Violation) {
	if one != nil {
		all = append(slices.Clip(all), *one)
	}
	if len(all) > triggersMax {
		return nil, []resource.Violation{resource.At("too_long", "must have at most 50 items, trigger included", append(slices.Clip(at), "triggers")...)}
	}
	for i := range all {
		t, member, why := all[i].read()
		if why != "" {
			kind := "value_error"
			if why == "required" {
				kind = "missing"
			}
			found = append(found, resource.At(kind, why, append(slices.Clip(at), "triggers", i, "value", member)...))
			continue
		}
		triggers = append(triggers, t)
	}
	return triggers, found
}

// read converts a trigger to the engine's form, or returns the invalid member and the reason.
func (t *Trigger) read() (x model.Trigger, member, why string) {
	switch t.Type {
	case "keyword":
		return t.keyword()
	case "product":
		x, member = model.Trigger{Kind: model.TriggerProduct, Value: t.Value.ProductID}, "productId"
	case "category":
		x, member = model.Trigger{Kind: model.TriggerCategory, Value: t.Value.CategoryID}, "categoryId"
	case "categories":
		x, member = model.Trigger{Kind: model.TriggerCategories, Value: t.Value.FromProduct}, "fromProduct"
	}
	if x.Value == "" {
		why = "required"
	}
	return x, member, why
}

func (t *Trigger) keyword() (x model.Trigger, member, why string) {
	if len(t.Value.Words) == 0 {
		return x, "words", "required"
	}
	x = model.Trigger{Kind: model.TriggerExact, Value: keyword.Text(t.Value.Words), Words: t.Value.Words}
	for _, k := range matchTypes {
		if k.matchType == t.Value.MatchType {
			x.Kind = k.kind
		}
	}
	if x.Value == "" {
		return x, "words", "must have a letter or digit"
	}
	return x, "", ""
}

// withDefaults adds the triggers by which a listing bid competes in product and category auctions: always if it has no positive
// triggers (negative keywords only exclude auctions), and in addition to them if auto is set.
func withDefaults(triggers []model.Trigger, target string, auto bool) []model.Trigger {
	isPositive := func(t model.Trigger) bool { return !t.Kind.IsNegative() }
	if slices.ContainsFunc(triggers, isPositive) && !auto {
		return triggers
	}
	for _, t := range campaigns.ListingTriggers(target) {
		same := func(x model.Trigger) bool { return x.Kind == t.Kind && x.Value == t.Value }
		if !slices.ContainsFunc(triggers, same) {
			triggers = append(triggers, t)
		}
	}
	return triggers
}

func triggersOf(all []model.Trigger) []Trigger {
	triggers := make([]Trigger, len(all))
	for i, t := range all {
		switch t.Kind {
		case model.TriggerProduct:
			triggers[i] = Trigger{"product", TriggerValue{ProductID: t.Value}}
		case model.TriggerCategory:
			triggers[i] = Trigger{"category", TriggerValue{CategoryID: t.Value}}
		case model.TriggerCategories:
			triggers[i] = Trigger{"categories", TriggerValue{FromProduct: t.Value}}
		default:
			triggers[i] = Trigger{"keyword", TriggerValue{Words: t.Words, MatchType: matchTypeOf(t.Kind)}}
		}
	}
	return triggers
}

func matchTypeOf(kind model.TriggerKind) string {
	for _, k := range matchTypes {
		if k.kind == kind {
			return k.matchType
		}
	}
	panic("a trigger of a kind that this binary does not know: the command that brought it was read")
}
