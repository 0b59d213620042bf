package auction

import "github.com/gavel-ads/gavel/shard/market"

// FrequencyCounter tells how often a user met a campaign. It must allocate nothing, may be called at any time from any goroutine,
// and may know less than there was, never more: a cap then lets a little too much through, but stops nobody wrongly.
// market.Market is one.
type FrequencyCounter interface {
	// Count returns the interactions of a user with a campaign, or with one of its bids where bid is not 0, in the period
	// that the instant lies in, by the local time that offset makes of it.
	Count(q FrequencyQuery) uint32
}

// FrequencyQuery is a question to a FrequencyCounter.
type FrequencyQuery = market.FrequencyQuery

// worn reports whether a frequency cap stops a bid. Without a user, or without anybody who counts, no cap applies.
func (s *Scratch) worn(t *market.CampaignTerms, b *market.BidRow, c *market.CampaignRow) bool {
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
