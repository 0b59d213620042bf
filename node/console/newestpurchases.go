package console

import (
	"encoding/hex"
	"net/http"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/money"
)

// newestPurchasesMax is how many purchases are listed. BOUND: a page of the console.
const newestPurchasesMax = 50

// NewestPurchases is the answer with the newest purchases of which something was credited.
type NewestPurchases struct {
	Purchases []NewestPurchase `json:"purchases"` // Newest first.
	Complete  bool             `json:"complete"`  // No day has more credited items than are read.
}

// NewestPurchase is one of them. Amounts are in minor units, exact.
type NewestPurchase struct {
	Key       string    `json:"key"` // What the operation that shows one purchase finds it by; the id of its event is not stored.
	CreatedAt time.Time `json:"createdAt"`
	Items     int       `json:"items"`
	Sales     string    `json:"sales"`
	Charged   string    `json:"charged"`
	Campaigns []string  `json:"campaigns"`
}

// newestPurchases answers the newest purchases to those who may read auctions.
func (h handlers) newestPurchases(_ http.ResponseWriter, r *http.Request) (any, error) {
	who, code := h.Identify(r)
	if code == apierr.OK && !slices.Contains(staff, who.Access.Role) {
		code = apierr.ForbiddenRole
	}
	if code != apierr.OK {
		return nil, apierr.New(code, "")
	}
	in := who.Access.Marketplace
	newest, complete, err := h.deps.Store.Tenant(in).NewestPurchases(newestPurchasesMax)
	if err != nil {
		return nil, err
	}
	minor := func(m money.Micros) string { return string(money.AppendMinorDecimal(nil, m, h.exponent(in))) }
	out := NewestPurchases{Purchases: []NewestPurchase{}, Complete: complete}
	for i := range newest {
		p := &newest[i]
		row := NewestPurchase{
			Key: hex.EncodeToString(p.Key[:]), CreatedAt: time.UnixMilli(p.CreatedMillis).UTC(), Items: p.Items,
			Sales: minor(p.Sales), Charged: minor(p.Charged),
		}
		for _, id := range p.Campaigns {
			row.Campaigns = append(row.Campaigns, id.String())
		}
		out.Purchases = append(out.Purchases, row)
	}
	return out, nil
}

// exponent returns the decimals of a marketplace's currency.
func (h handlers) exponent(marketplace uint16) uint8 {
	if m := h.marketplace(marketplace); m != nil {
		return m.CurrencyExponent
	}
	return 0
}
