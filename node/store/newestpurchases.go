package store

import (
	"cmp"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
)

// Bounds of the list of the newest purchases.
const (
	newestDays       = 7     // BOUND: days, so that a quiet marketplace costs as little as a busy one.
	newestCreditsMax = 5_000 // BOUND: credited items that are read of each group and day, some 10 ms.
)

// CreditedPurchase is a purchase of which something was credited.
type CreditedPurchase struct {
	Key           [16]byte // Of its event, whose id is not stored.
	CreatedMillis int64    // When its event arrived.
	Items         int      // How many of its items were credited.
	Sales         money.Micros
	Charged       money.Micros
	Campaigns     []ids.UUID // To which they were credited, each once.
}

// NewestPurchases lists the newest purchases of which something was credited in the last days, newest first, at most limit. Credits lie
// in the order of their purchases' keys, so all of a day are read. It reports false for complete when a group has more of a day than
// are read: then those of the day are a part, chosen by their keys.
func (t Tenant) NewestPurchases(limit int) (newest []CreditedPurchase, complete bool, err error) {
	complete = true
	today := uint32(t.now() / dayMillis) // Days fit 32 bits.
	for day := today; day+newestDays > today && len(newest) < limit; day-- {
		of := map[[16]byte]*CreditedPurchase{}
		for _, g := range t.store.dataGroups() {
			err := t.store.readGroup(g, func(b shard.Queries) {
				read := 0
				b.CreditsOfDay(day, nil, func(c *shard.StoredCredit) bool {
					if read++; read > newestCreditsMax {
						complete = false
						return false
					}
					if c.Marketplace == t.marketplace {
						campaign, _ := b.CampaignByOrdinal(c.Campaign)
						addCredit(of, c, campaign.ID)
					}
					return true
				})
			})
			if err != nil {
				return nil, false, err
			}
		}
		newest = append(newest, newestOf(of)...)
	}
	return newest[:min(len(newest), limit)], complete, nil
}

// addCredit counts a credited item for its purchase. A sum that is too large stays as it is.
func addCredit(of map[[16]byte]*CreditedPurchase, c *shard.StoredCredit, campaign ids.UUID) {
	p := of[c.Purchase.Key]
	if p == nil {
		p = &CreditedPurchase{Key: c.Purchase.Key, CreatedMillis: c.Purchase.OpenedMillis}
		of[c.Purchase.Key] = p
	}
	p.Items++
	if sales, fits := money.Mul(c.UnitPrice, c.Quantity); fits && p.Sales+sales >= p.Sales {
		p.Sales += sales
	}
	p.Charged += c.Charged
	if !slices.Contains(p.Campaigns, campaign) {
		p.Campaigns = append(p.Campaigns, campaign)
	}
}

// newestOf returns the purchases of a day, newest first.
func newestOf(of map[[16]byte]*CreditedPurchase) []CreditedPurchase {
	all := make([]CreditedPurchase, 0, len(of))
	for _, p := range of {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b CreditedPurchase) int {
		return cmp.Or(cmp.Compare(b.CreatedMillis, a.CreatedMillis), slices.Compare(a.Key[:], b.Key[:]))
	})
	return all
}
