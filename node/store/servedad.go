package store

import (
	"cmp"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// What is stored of an ad that won an auction is the decision about its charge, under its resolvedBidId, and the impressions and
// clicks of its user, which name campaign, bid and the hour of the auction but not the resolvedBidId. So the decision is that of the
// ad, while an interaction may belong to another auction of the same hour that served the same bid to the same user.

// servedInteractionsMax bounds what is returned. BOUND: interactions, the first ones; one user rarely has more than two of an ad.
const servedInteractionsMax = 50

// ServedAdName names an ad that won an auction, by what its resolvedBidId says (serving.TokenContent).
type ServedAdName struct {
	Charge         ChargeName
	Bid            uint32 // Ordinal in the group.
	PlacementIndex uint8
}

// ServedAd is what came of an ad that won an auction.
type ServedAd struct {
	CampaignID ids.UUID
	Open       bool // No valid interaction that pays for it was reported yet; it would be charged.
	// Decided is true when the interaction was reported in time. The four members after it are then set.
	Decided       bool
	Outcome       command.Outcome
	Charged       money.Micros
	DecidedMillis int64        // The time on the state clock; 0 of a decision that was made below command.LevelReturns.
	Reversed      money.Micros // What was given back of the charge so far.

	UserKnown    bool                // False without a user: then there are no Interactions.
	Interactions []ServedInteraction // In the order in which they were received; clicks that a rule found invalid are not stored.
	More         bool                // There are more than the returned ones.
}

// ServedInteraction is an impression or click of the user on the ad.
type ServedInteraction struct {
	Kind           event.Kind
	OccurredMillis int64
	ReceivedMillis int64 // The time on the state clock at its commit.
	Effect         InteractionEffect
}

// InteractionEffect says what an interaction did to the charge of its ad.
type InteractionEffect uint8

// The effects.
const (
	OnlyCounted  InteractionEffect = iota // It is not what pays for the ad.
	DecidedIt                             // The charge was decided with it.
	CameLate                              // It was received when the time for the charge had passed.
	CameRepeated                          // The charge was decided with another one.
)

// ServedAd returns what came of an ad. user is the hash of the user who saw it, 0 when the caller does not know it. ErrNotFound for a
// campaign that is not the marketplace's.
func (t Tenant) ServedAd(n *ServedAdName, user uint64) (ServedAd, error) {
	return readOne(t, n.Charge.Group, func(b shard.Queries) (out ServedAd, found bool) {
		campaign, found := b.CampaignByOrdinal(n.Charge.Campaign)
		if !found || campaign.Marketplace != t.marketplace {
			return out, false
		}
		out = ServedAd{CampaignID: campaign.ID, UserKnown: user != 0}
		out.Open = campaign.Status != model.Terminated && n.Charge.Hour >= event.ChargeHorizon(n.Charge.Kind, b.Clock())
		out.addDecision(b, &n.Charge)
		if user != 0 {
			out.addInteractions(b, t.marketplace, n, user)
		}
		return out, true
	})
}

func (a *ServedAd) addDecision(b shard.Queries, n *ChargeName) {
	r, found := b.ChargeDecision(n.Kind, n.Hour, n.Key)
	if !found {
		return
	}
	a.Open, a.Decided, a.Outcome, a.Charged = false, true, r.Outcome, r.Charged
	if c, found := b.ChargeOf(n.Kind, n.Hour, n.Key); found {
		a.DecidedMillis, a.Reversed = c.Millis, c.Reversed
	}
}

// addInteractions reads the interactions of a user with the ad. BOUND: of the 32 days on which an event of the ad counts, at most
// shard.TouchesMax impressions and clicks each.
func (a *ServedAd) addInteractions(b shard.Queries, marketplace uint16, n *ServedAdName, user uint64) {
	const dayMillis = 24 * hourMillis
	issued := n.Charge.Hour / 24
	b.Touches(marketplace, user, max(issued, 1)-1, issued+event.CountMillis/dayMillis, func(x *shard.Touch) bool {
		if n.isOf(x) {
			a.Interactions = append(a.Interactions, ServedInteraction{Kind: x.Kind, OccurredMillis: x.OccurredMillis, ReceivedMillis: x.ReceivedMillis})
		}
		return true
	})
	slices.SortStableFunc(a.Interactions, func(x, y ServedInteraction) int { return cmp.Compare(x.ReceivedMillis, y.ReceivedMillis) })
	if a.More = len(a.Interactions) > servedInteractionsMax; a.More {
		a.Interactions = a.Interactions[:servedInteractionsMax]
	}
	a.setEffects(&n.Charge)
}

// isOf reports whether a touch can be of the ad. The touch of an ad that a purchase pays for names its charge key.
func (n *ServedAdName) isOf(x *shard.Touch) bool {
	return x.Issued == n.Charge.Hour && x.Campaign == n.Charge.Campaign && x.Bid == n.Bid && x.Place.Placement() == n.PlacementIndex &&
		(x.ChargeKey == [16]byte{} || x.ChargeKey == n.Charge.Key)
}

// setEffects says which interaction decided the charge: the decision has the state clock of the command that the interaction came in.
func (a *ServedAd) setEffects(n *ChargeName) {
	decided := a.DecidedMillis == 0
	for i := range a.Interactions {
		x := &a.Interactions[i]
		switch {
		case x.Kind != n.Kind:
		case n.Hour < event.ChargeHorizon(n.Kind, x.ReceivedMillis):
			x.Effect = CameLate
		case !decided && x.ReceivedMillis == a.DecidedMillis:
			x.Effect, decided = DecidedIt, true
		case a.DecidedMillis != 0:
			x.Effect = CameRepeated
		}
	}
}
