package admin

import (
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// attributionNames are the values of the setting attribution. INVARIANT: the schema of the setting lists the same values.
var attributionNames = [model.Attributions]string{
	model.AttributionStandard:  "standard",
	model.AttributionReference: "reference",
	model.AttributionLongClick: "long-click",
	model.AttributionAmazon:    "amazon",
}

// attributionNamed returns the rules of a name. REQUIRES: the schema has checked the name.
func attributionNamed(name string) model.Attribution {
	i := slices.Index(attributionNames[:], name)
	if i < 0 {
		panic(fmt.Sprintf("the schema of the setting attribution allows %q, which names no rules", name))
	}
	return model.Attribution(i) // Below model.Attributions.
}

// applyTouchDays changes how long touches are kept, and checks that it is long enough for the rules. The default is stored
// as 0, which groups of every level can read.
func (b *SettingsPatchBody) applyTouchDays(m *model.Marketplace) error {
	if b.TouchRetentionDays != nil {
		m.TouchDays = uint8(*b.TouchRetentionDays) // At most 90.
	}
	if m.TouchDays == store.TouchDaysDefault {
		m.TouchDays = 0
	}
	least := store.LeastTouchDays(m.Attribution)
	if store.TouchDays(m) >= least || b.TouchRetentionDays == nil && b.Attribution == nil {
		return nil
	}
	member, rule := "touchRetentionDays", fmt.Sprintf("must be at least %d with these rules of attribution", least)
	if b.TouchRetentionDays == nil {
		member, rule = "attribution", fmt.Sprintf("needs touchRetentionDays of at least %d", least)
	}
	return resource.Invalid(resource.At("value_error", rule, "body", member))
}
