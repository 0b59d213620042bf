package auction

import "github.com/gavel-ads/gavel/shard/market"

// FrequencyCounter counts the interactions of users with campaigns. Count must allocate nothing and be safe for
// concurrent use. It may return less than the true number but not more, so that a cap may let some ads too many through
// but never stops an ad wrongly. market.Market implements it.
type FrequencyCounter interface {
	// Count returns the interactions of a user with a campaign, or with one of its bids when q.Bid is not 0, in the period
	// that contains q.LocalMillis.
	Count(q FrequencyQuery) uint32
}

// FrequencyQuery is the argument of FrequencyCounter.Count.
type FrequencyQuery = market.FrequencyQuery

// capReached reports whether a frequency cap stops a bid. Without a user or without a FrequencyCounter, no cap applies.
func (s *Scratch) capReached(t *market.CampaignTerms, b *market.BidRow, c *market.CampaignRow) bool {
	if s.a.User == 0 || s.t.Frequency == nil {
		return false
	}
	for _, x := range t.Caps {
		q := FrequencyQuery{
			User: s.a.User, Group: c.Group, Campaign: c.Ordinal, Interaction: x.Interaction(), Period: x.Period(),
			LocalMillis: s.localMillis(),
		}
		if x.OfBid() {
			q.Bid = b.Ordinal
		}
		if s.t.Frequency.Count(q) >= x.Limit {
			return true
		}
	}
	return false
}

func (s *Scratch) localMillis() int64 { return s.t.NowMillis + int64(s.t.OffsetSeconds)*1000 }
