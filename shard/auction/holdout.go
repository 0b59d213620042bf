package auction

import "github.com/gavel-ads/gavel/shard/market"

// This file holds back the bids of campaigns that the user never sees (market.Holdout). A bid that is held back passes
// all gates and then does not compete. Afterwards it is compared with the winners: had it won, it is a ghost bid
// (Johnson, Lewis and Nubbemeyer 2017, Ghost Ads), its user is enrolled in the campaign's measurement, and the bid is
// lost for the reason Holdout. The users who see the campaign are enrolled when it wins. So both arms consist of the
// users for whom the campaign wins, whatever they saw afterwards.
//
// Each campaign is compared alone with the winners, as it would have competed alone: other campaigns that are held out
// from the same user stay out. Only the charge types of all bids that are held back count for the weights of the
// auction, so that scores stay comparable.
//
// The comparison is exact: winners are taken from the top by score, so whether a bid wins depends only on the winners above
// it. That a campaign has several bids makes no difference, because a bid of its own can only keep another one out by
// winning itself.

// enrolment is a user to be enrolled in the measurement of a campaign.
type enrolment struct {
	campaign uint32 // Row.
	user     uint64
}

// holdBack holds a bid back that passed the gates, if the user never sees its campaign.
func (s *Scratch) holdBack(at uint32, amount uint64, b *market.BidRow, c *market.CampaignRow) bool {
	if !s.isHeldOut(b.Campaign) {
		return false
	}
	s.types |= 1 << c.Charge
	s.held = append(s.held, candidate{
		key: keyOf(b, c), amount: amount, hit: at, campaign: b.Campaign, vendor: c.Vendor, ad: b.Ad, charge: c.Charge,
	})
	return true
}

// isHeldOut reports whether the user never sees a campaign. REQUIRES: it has the flag CampaignHoldout.
func (s *Scratch) isHeldOut(campaign uint32) bool {
	return s.v.Terms(campaign).Holdout.Arm(s.a.User) == market.HeldOut
}

// compareHeld decides why the bids that were held back lost. REQUIRES: the auction is ranked.
func (s *Scratch) compareHeld(out *Result) {
	for i := range s.held {
		c := &s.held[i]
		if s.comparesRates() {
			c.click = s.clickRate(c)
		}
		c.hit = s.pairOf(c)
		s.setScore(c)
		c.reason = s.outcomeOfHeld(c)
		if c.reason == Holdout && !s.isProduct(&s.hits[c.hit]) {
			c.reason = Outranked // The id in the request only has the same hash; nothing would have been shown.
		}
		out.Lost[c.reason]++
		s.noteHeld(c)
	}
}

// noteHeld notes a bid that was held back for the campaign's counts and, if it would have won, for its measurement.
func (s *Scratch) noteHeld(c *candidate) {
	if s.t.LossWeight > 0 {
		s.losers = append(s.losers, loser{c.campaign, c.reason})
	}
	if c.reason == Holdout {
		s.enrolled = append(s.enrolled, enrolment{c.campaign, s.a.User})
	}
}

// outcomeOfHeld returns Holdout for a bid that would have won, otherwise why it would have lost.
func (s *Scratch) outcomeOfHeld(c *candidate) Reason {
	above, ofVendor := 0, 0
	for rank := range s.winners() {
		w := s.winner(rank)
		if !w.beats(c) {
			continue
		}
		if w.hit == c.hit {
			return Diversity
		}
		above++
		if w.vendor == c.vendor {
			ofVendor++
		}
	}
	switch {
	case above >= min(s.a.Slots, SlotsMax):
		return Outranked
	case s.settings.VendorMax > 0 && ofVendor >= int(s.settings.VendorMax):
		return Diversity
	}
	return Holdout
}

// pairOf returns the hit for which a bid competes: in a flight auction the pair to which it would have been assigned.
func (s *Scratch) pairOf(c *candidate) uint32 {
	head := c.hit
	if s.a.Kind != Flights || !s.a.HasProducts || s.hits[head].next == lastPair {
		return head
	}
	s.setScore(c)
	better := 0
	for i := range s.candidates {
		d := s.candidates[i]
		if s.hits[d.hit].row != s.hits[head].row {
			continue
		}
		d.hit = head
		s.setScore(&d)
		if d.beats(c) {
			better++
		}
	}
	s.sortPairs(head)
	return s.pairs[min(better, len(s.pairs)-1)]
}

// heldReason returns why a bid that was held back lost. held is false for another bid.
func (s *Scratch) heldReason(key uint64) (reason Reason, held bool) {
	for i := range s.held {
		if s.held[i].key == key {
			return s.held[i].reason, true
		}
	}
	return 0, false
}

// enrolWinner notes the user of a winner of a campaign with a holdout.
func (s *Scratch) enrolWinner(campaign uint32) {
	if s.a.User != 0 {
		s.enrolled = append(s.enrolled, enrolment{campaign, s.a.User})
	}
}

// RecordEnrolments enrols the users of an answered request in the measurements of campaigns with a holdout. It is called
// like RecordWins.
func RecordEnrolments(v *market.View, res *Results, nowMillis int64) {
	for _, x := range res.enrolled {
		v.Enrol(x.campaign, x.user, nowMillis)
	}
}
