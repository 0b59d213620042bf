package serving

import (
	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// TokenCharge names what a resolvedBidId is charged for. Group and Hour say where the decision is stored.
type TokenCharge struct {
	Group    ids.Group
	Campaign uint32     // Ordinal in the group.
	Kind     event.Kind // The interaction that pays for it.
	Hour     uint32     // The hour in which it was issued.
	Key      [16]byte
}

// TokenContent is what a resolvedBidId says about the ad that won.
type TokenContent struct {
	TokenCharge
	IssuedMillis   int64
	Rank           uint8
	PlacementIndex uint8
	Bid            uint32 // Ordinal in the group.
	Price          money.Micros
}

// ChargeOf returns what a resolvedBidId is charged for, or the code of OpenToken.
func (c *Core) ChargeOf(marketplace uint16, resolvedBidID string) (TokenCharge, apierr.Code) {
	x, code := c.OpenToken(marketplace, resolvedBidID)
	return x.TokenCharge, code
}

// OpenToken opens a resolvedBidId. The code is InvalidResolvedBidID for one that is not authentic for the marketplace or
// that no campaign pays for, and ServiceUnavailable before the cluster's first start has completed.
func (c *Core) OpenToken(marketplace uint16, resolvedBidID string) (x TokenContent, code apierr.Code) {
	keyring, secret := c.Keyring(), c.Secret()
	if keyring == nil || secret == nil {
		return x, apierr.ServiceUnavailable
	}
	token := []byte(resolvedBidID)
	p, authentic := keyring.Open(marketplace, token)
	if !authentic || p.External {
		return x, apierr.InvalidResolvedBidID
	}
	switch p.Charge {
	case model.CPC:
		x.Kind = event.Click
	case model.CPM:
		x.Kind = event.Impression
	case model.CPA:
		x.Kind = event.Purchase
	default:
		return x, apierr.InvalidResolvedBidID
	}
	h := hasher{secret: secret, marketplace: marketplace}
	x.Group, x.Campaign, x.Hour = c.Topology.GroupOf(p.Shard), p.Campaign, hourOf(p.IssuedMillis)
	x.Key = h.charge(x.Kind, token)
	x.IssuedMillis, x.Rank, x.PlacementIndex, x.Bid, x.Price = p.IssuedMillis, p.Rank, p.PlacementIndex, p.Bid, p.Price
	return x, apierr.OK
}
