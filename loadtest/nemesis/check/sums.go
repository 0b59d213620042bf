package check

import (
	"fmt"

	"github.com/gavel-ads/gavel/loadtest/nemesis/history"
)

// Sums checks that all reports say the same: a campaign and its days and products; a vendor, the marketplace and all products, and the
// campaigns; to the micro. Balances and the audit compare the campaigns with the wallets and with the journal.
func Sums(h *history.History, final *FinalState) Result {
	v := Result{Check: "reports of campaigns, days, products, vendors and the marketplace have one sum"}
	other := &final.Other
	var campaigns, vendors, products history.Numbers
	for _, c := range h.Campaigns() {
		n := final.Reports[c].Numbers
		campaigns.Add(&n)
		v.compareNumbers(fmt.Sprintf("campaign %s and its days", c.Name), n, other.Daily[c])
		v.compareNumbers(fmt.Sprintf("campaign %s and its products", c.Name), n, other.ByProduct[c])
	}
	for _, vendor := range h.Vendors {
		var own history.Numbers
		for _, c := range vendor.Campaigns {
			n := final.Reports[c].Numbers
			own.Add(&n)
		}
		n := other.Vendors[vendor]
		vendors.Add(&n)
		v.compareNumbers("the campaigns of vendor "+vendor.ID+" and its report", ofAds(own), ofAds(n))
	}
	for _, n := range other.Products {
		products.Add(&n)
	}
	v.compareNumbers("the marketplace and its days", other.Marketplace, other.MarketplaceDaily)
	v.compareNumbers("the marketplace and all vendors", other.Marketplace, vendors)
	v.compareNumbers("the marketplace and all products", other.Marketplace, products)
	v.compareNumbers("the marketplace and all campaigns", ofAds(other.Marketplace), ofAds(campaigns))
	return v
}

// ofAds returns the numbers without the purchases: a campaign has those that are credited to it, the other reports have all of them.
func ofAds(n history.Numbers) history.Numbers {
	n.Bought = history.Sales{}
	return n
}

// compareNumbers adds a violation when two reports differ. Reports without any number prove nothing, so they are not counted.
func (v *Result) compareNumbers(what string, a, b history.Numbers) {
	if a != (history.Numbers{}) {
		v.Checked++
	}
	if a != b {
		v.AddViolation("%s: %+v and %+v", what, a, b)
	}
}
