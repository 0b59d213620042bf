package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/money"
)

// Tokens opens resolvedBidIds.
type Tokens interface {
	OpenToken(marketplace uint16, resolvedBidID string) (serving.TokenContent, apierr.Code)
	// UserOf returns the hash of the user to whom a sampled auction served an ad, 0 when that is not known.
	UserOf(marketplace uint16, resolvedBidID string) uint64
}

// ServedAd is the answer with what came of an ad that won an auction. Amounts are in minor units, exact.
type ServedAd struct {
	ServedAt   time.Time `json:"servedAt"`
	CampaignID string    `json:"campaignId"`
	Rank       int       `json:"rank"`
	Price      string    `json:"price"`
	PaidBy     string    `json:"paidBy"` // impression, click or purchase.
	Open       bool      `json:"open"`   // No valid one was reported yet, and it would be charged.
	// Charge is absent until the interaction that pays was reported in time, and when the decision is so old that it was dropped.
	Charge       *AdCharge       `json:"charge,omitempty"`
	UserKnown    bool            `json:"userKnown"` // If false, interactions are not listed.
	Interactions []AdInteraction `json:"interactions"`
	More         bool            `json:"more"` // There are more interactions.
}

// AdCharge is the decision about the charge of an ad.
type AdCharge struct {
	Outcome  string     `json:"outcome"` // charged, clipped or nothing_left.
	Amount   string     `json:"amount"`
	At       *time.Time `json:"at,omitempty"` // Absent when it was not stored.
	Reversed string     `json:"reversed"`     // What was given back.
}

// AdInteraction is an impression or click of the user on the ad.
type AdInteraction struct {
	Kind       string    `json:"kind"`
	OccurredAt time.Time `json:"occurredAt"`
	ReceivedAt time.Time `json:"receivedAt"`
	Effect     string    `json:"effect"` // decided, late, repeated or counted.
}

var (
	outcomeNames = map[command.Outcome]string{command.Charged: "charged", command.Clipped: "clipped", command.NothingLeft: "nothing_left"}
	paidByNames  = map[event.Kind]string{event.Impression: "impression", event.Click: "click", event.Purchase: "purchase"}
	effectNames  = [...]string{store.OnlyCounted: "counted", store.DecidedIt: "decided", store.CameLate: "late", store.CameRepeated: "repeated"}
)

// servedAd answers what came of the ad with the resolvedBidId of the query, to those who may read auctions. The query may name the user,
// by the id that events carry, when this node does not know to whom the ad was served.
func (h handlers) servedAd(_ http.ResponseWriter, r *http.Request) (any, error) {
	who, code := h.Identify(r)
	if code == apierr.OK && !slices.Contains(staff, who.Access.Role) {
		code = apierr.ForbiddenRole
	}
	if code != apierr.OK {
		return nil, apierr.New(code, "")
	}
	in, id, user := who.Access.Marketplace, r.URL.Query().Get("id"), r.URL.Query().Get("user")
	if len(user) > userIDMax {
		return nil, bad("user", "must be an opaqueUserId of at most 360 bytes")
	}
	if len(id) != bidid.TextLen {
		return nil, bad("id", "must be a resolvedBidId, which has 80 characters")
	}
	token, code := h.deps.Tokens.OpenToken(in, id)
	if code != apierr.OK {
		return nil, apierr.New(code, "")
	}
	hash := h.deps.Tokens.UserOf(in, id)
	if user != "" {
		secret, err := h.deps.Store.PurchaseSecret()
		if err != nil {
			return nil, err
		}
		hash = serving.UserHasher(secret, in)([]byte(user))
	}
	name := store.ServedAdName{Charge: store.ChargeName(token.TokenCharge), Bid: token.Bid, PlacementIndex: token.PlacementIndex}
	ad, err := h.deps.Store.Tenant(in).ServedAd(&name, hash)
	if err != nil {
		return nil, err
	}
	exponent := uint8(0)
	if m := h.marketplace(in); m != nil {
		exponent = m.CurrencyExponent
	}
	return servedAdOf(&token, &ad, exponent), nil
}

func servedAdOf(token *serving.TokenContent, ad *store.ServedAd, exponent uint8) ServedAd {
	minor := func(m money.Micros) string { return string(money.AppendMinorDecimal(nil, m, exponent)) }
	at := func(millis int64) time.Time { return time.UnixMilli(millis).UTC() }
	out := ServedAd{
		ServedAt: at(token.IssuedMillis), CampaignID: ad.CampaignID.String(), Rank: int(token.Rank), Price: minor(token.Price),
		PaidBy: paidByNames[token.Kind], Open: ad.Open, UserKnown: ad.UserKnown, Interactions: []AdInteraction{}, More: ad.More,
	}
	if ad.Decided {
		out.Charge = &AdCharge{Outcome: outcomeNames[ad.Outcome], Amount: minor(ad.Charged), Reversed: minor(ad.Reversed)}
		if ad.DecidedMillis != 0 {
			out.Charge.At = new(at(ad.DecidedMillis))
		}
	}
	for i := range ad.Interactions {
		x := &ad.Interactions[i]
		out.Interactions = append(out.Interactions, AdInteraction{kindName(x.Kind), at(x.OccurredMillis), at(x.ReceivedMillis), effectNames[x.Effect]})
	}
	return out
}
