package console

import (
	"encoding/hex"
	"net/http"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Purchase is the answer with what led to a purchase. Amounts are in minor units, exact.
type Purchase struct {
	Hour        time.Time        `json:"hour"` // The hour in which it occurred.
	Open        bool             `json:"open"` // It is not credited yet.
	Attribution string           `json:"attribution"`
	UserKnown   bool             `json:"userKnown"`
	Credits     []PurchaseCredit `json:"credits"`
	Touches     []PurchaseTouch  `json:"touches"` // Newest first.
	More        bool             `json:"more"`    // There are older touches.
}

// PurchaseCredit is an item that was credited to a touch.
type PurchaseCredit struct {
	Item       int    `json:"item"` // Its index in the purchase.
	ProductID  string `json:"productId"`
	Quantity   int64  `json:"quantity"`
	UnitPrice  string `json:"unitPrice"`
	CampaignID string `json:"campaignId"`
	Kind       string `json:"kind"`
	Halo       bool   `json:"halo"` // The touch is of the same vendor, not of the product.
	Charged    string `json:"charged"`
	Touch      int    `json:"touch"` // Index in touches; -1 when it is not among them.
}

// PurchaseTouch is an impression or click of the user before the purchase.
type PurchaseTouch struct {
	Kind       string    `json:"kind"`
	At         time.Time `json:"at"`
	Format     string    `json:"format"`
	VendorID   string    `json:"vendorId"`
	ProductID  string    `json:"productId,omitempty"`
	CampaignID string    `json:"campaignId"`
	Considered bool      `json:"considered"` // It lies in the window of the rules.
}

// BOUND: bytes of an event id and of a user id in a query: the 256 and 90 characters that events may have, of 4 bytes each.
const (
	eventIDMax = 1_024
	userIDMax  = 360
)

// The names of the rules of marketplaces, of the settings' interface.
var attributionNames = [model.Attributions]string{"standard", "reference", "long-click", "amazon"}

var formatNames = [model.AdFormats]string{model.Listing: "listing", model.Banner: "banner", model.SponsoredBrand: "sponsoredBrand"}

func kindName(k event.Kind) string {
	if k == event.Click {
		return "click"
	}
	return "impression"
}

// purchase answers what led to the purchase with the event id of the query, or with a key of newestPurchases, to those who may read
// auctions. The query may name the user, by the id that events carry, for a purchase of which nothing was credited.
func (h handlers) purchase(_ http.ResponseWriter, r *http.Request) (any, error) {
	who, code := h.Identify(r)
	if code == apierr.OK && !slices.Contains(staff, who.Access.Role) {
		code = apierr.ForbiddenRole
	}
	if code != apierr.OK {
		return nil, apierr.New(code, "")
	}
	id, user := r.URL.Query().Get("id"), r.URL.Query().Get("user")
	text := r.URL.Query().Get("key")
	key, err := hex.DecodeString(text)
	switch {
	case text != "" && (err != nil || len(key) != 16 || id != ""):
		return nil, bad("key", "must be a key of the newest purchases, of 32 hexadecimal digits, without an id beside it")
	case text != "":
	case id == "" || len(id) > eventIDMax:
		return nil, bad("id", "must be the id of a purchase event, of at most 1024 bytes")
	case len(user) > userIDMax:
		return nil, bad("user", "must be an opaqueUserId of at most 360 bytes")
	}
	secret, err := h.deps.Store.PurchaseSecret()
	if err != nil {
		return nil, err
	}
	in, hash := who.Access.Marketplace, uint64(0)
	if user != "" {
		hash = serving.UserHasher(secret, in)([]byte(user))
	}
	of := serving.EventKey(secret, in, event.Purchase, id)
	if text != "" {
		of = [16]byte(key)
	}
	path, err := h.deps.Store.Tenant(in).PurchasePath(of, hash)
	if err != nil {
		return nil, err
	}
	return purchaseOf(&path, h.exponent(in)), nil
}

func purchaseOf(p *store.PurchasePath, exponent uint8) Purchase {
	minor := func(m money.Micros) string { return string(money.AppendMinorDecimal(nil, m, exponent)) }
	out := Purchase{
		Hour: time.UnixMilli(p.HourMillis).UTC(), Open: p.Open, Attribution: attributionNames[p.Rules], UserKnown: p.UserKnown,
		Credits: []PurchaseCredit{}, Touches: []PurchaseTouch{}, More: p.More,
	}
	for i := range p.Credits {
		c := &p.Credits[i]
		out.Credits = append(out.Credits, PurchaseCredit{
			int(c.Item), c.Product, c.Quantity, minor(c.UnitPrice), c.CampaignID.String(), kindName(c.Kind), c.Halo, minor(c.Charged), c.Touch,
		})
	}
	for i := range p.Touches {
		t := &p.Touches[i]
		out.Touches = append(out.Touches, PurchaseTouch{
			kindName(t.Kind), time.UnixMilli(t.Millis).UTC(), formatNames[t.Ad.Format], t.Ad.VendorID, t.Ad.Product, t.CampaignID.String(), t.Considered,
		})
	}
	return out
}
