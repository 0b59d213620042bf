package admin

import (
	"fmt"
	"slices"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// SettingsReserveRule sets a reserve price for a charge type where it applies. Of all rules that apply to a bid, and the
// marketplace's own price, the highest counts.
type SettingsReserveRule struct {
	ChargeType  string `json:"chargeType" enum:"CPC,CPM,CPA"`
	Amount      int64  `json:"amount" minimum:"0" maximum:"20000000000" doc:"Minor units; a bid must be above it."`
	AdFormat    string `json:"adFormat,omitempty" enum:"listing,banner,sponsored_brand" doc:"Absent: all formats."`
	PlacementID string `json:"placementId,omitempty" maxLength:"255" doc:"External id of a banner slot or placement. Absent: all, and listings."`
	CategoryID  string `json:"categoryId,omitempty" maxLength:"255" doc:"Products in the category or below, and auctions that name it or one below. Absent: all."`
}

// The interface's words for constants of the engine. The index of a word is the value of its constant.
var (
	charges = []string{"", "CPC", "CPM", "CPA"}
	formats = []string{"listing", "banner", "sponsored_brand"}
)

// validateCrossField checks the rules that concern two members.
func validateCrossField(rules []SettingsReserveRule) (found []resource.Violation) {
	for i := range rules {
		if x := &rules[i]; x.AdFormat == "listing" && x.PlacementID != "" {
			found = append(found, resource.At("value_error", "listings have no placement", "body", "reserveRules", i, "placementId"))
		}
	}
	return found
}

func marketRules(rules []SettingsReserveRule, exponent uint8) []model.ReserveRule {
	var all []model.ReserveRule
	for i := range rules {
		x := &rules[i]
		amount, err := money.FromMinor(x.Amount, exponent)
		if err != nil {
			panic(fmt.Sprintf("the bounds of reserve prices (%d) must lie in those of money", x.Amount))
		}
		all = append(all, model.ReserveRule{
			Charge: model.ChargeType(slices.Index(charges, x.ChargeType)), Amount: amount, // The schema has checked the word.
			AnyFormat: x.AdFormat == "", Format: model.AdFormat(max(0, slices.Index(formats, x.AdFormat))), // As above.
			Place: x.PlacementID, Category: x.CategoryID,
		})
	}
	return all
}

func rulesOf(m *model.Marketplace) []SettingsReserveRule {
	all := make([]SettingsReserveRule, len(m.Reserves))
	for i := range m.Reserves {
		x := &m.Reserves[i]
		all[i] = SettingsReserveRule{ChargeType: charges[x.Charge], Amount: money.Minor(x.Amount, m.CurrencyExponent), PlacementID: x.Place, CategoryID: x.Category}
		if !x.AnyFormat {
			all[i].AdFormat = formats[x.Format]
		}
	}
	return all
}
