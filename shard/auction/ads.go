package auction

import (
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// This file holds the auctions of a place (market.Place), for banners and sponsored brands. The competing entity is not
// a product but a campaign's target, and the candidates are the bids for the place.

// findPlace sets s.place to the auction's media slot or placement, or to nil when it is unknown or inactive.
func (s *Scratch) findPlace() {
	s.place = nil
	if s.a.Kind != Banners && s.a.Kind != SponsoredBrand {
		return
	}
	id := s.req.Text(s.a.SlotID.Span)
	var place *market.Place
	if s.a.Kind == Banners {
		s.key = market.AppendPlaceKey(s.key[:0], s.t.Marketplace, model.Banner, id)
		place = s.v.Place(s.key)
	} else {
		place, s.key = s.v.Placement(s.key[:0], s.t.Marketplace, id)
	}
	if place != nil && place.Active {
		s.place = place
	}
}

// collectAds adds the targets of the bids for the place to hits.
func (s *Scratch) collectAds() {
	bids := s.v.Bids(s.v.ProductRow(s.place.Row))
	for i := range bids {
		ad := s.v.Ad(&bids[i])
		if _, added := s.hitByRow.add(uint64(ad.Entity), uint32(len(s.hits))); added { // Fewer hits than 2^32.
			s.hits = append(s.hits, hit{
				row: ad.Product, index: fromCategory, quality: model.QualityOne * model.QualityOne, best: none, other: none,
			})
		}
	}
}

// gatePlaceBids evaluates the gates for the bids of the place. A bid that passes becomes a candidate, any other is
// counted.
func (s *Scratch) gatePlaceBids(out *Result) {
	bids := s.v.Bids(s.v.ProductRow(s.place.Row))
	for i := range bids {
		b := &bids[i]
		c := s.v.Campaign(b.Campaign)
		ad := s.v.Ad(b)
		at, _ := s.hitByRow.get(uint64(ad.Entity))
		amount, reason := s.gateAd(&s.hits[at], ad, b, c)
		if reason != passed {
			out.Lost[reason]++
			s.addLoser(b, reason)
			continue
		}
		s.addCandidate(&s.hits[at], at, amount, b, c, out)
	}
}

// gateAd returns the first gate that a bid for a place fails or, when it passes all, the amount with which it competes.
func (s *Scratch) gateAd(h *hit, ad *market.Ad, b *market.BidRow, c *market.CampaignRow) (amount uint64, lost Reason) {
	location, triggers := s.v.Predicate(b.Terms)
	terms := s.terms(b, c)
	var r *market.ProductRow
	if ad.Product != market.NoProduct {
		r = s.v.ProductRow(ad.Product)
	}
	reason := s.gateState(b, c, terms)
	switch {
	case reason != passed:
		return 0, reason
	case s.a.Kind == Banners && !s.approved(ad):
		return 0, NotApproved
	case r != nil && r.Flags&market.ProductActive == 0:
		return 0, ProductInactive
	case b.Terms&market.TriggerNone == 0 && !s.anyMatches(triggers):
		return 0, Trigger
	case s.a.Kind == Banners && !s.showsOnDevice(ad):
		return 0, DeviceMismatch
	case location != 0 && !s.located(location):
		return 0, Geo
	case terms != nil && !s.included(terms):
		return 0, Segment
	case terms != nil && s.excluded(terms) || s.negated(triggers):
		return 0, Excluded
	case s.a.Kind == SponsoredBrand && r != nil && !s.filtered(h, r):
		return 0, FilterMismatch
	}
	amount, lost = s.gateMoney(s.floorOf(c.Charge, r), b, c, terms)
	if lost == passed && s.exclusiveAd(ad, c) {
		return 0, Exclusive
	}
	return amount, lost
}

// approved reports whether any asset of a banner may be shown.
func (s *Scratch) approved(ad *market.Ad) bool {
	for i := range ad.Assets {
		if s.v.Approved(&ad.Assets[i]) {
			return true
		}
	}
	return false
}

// showsOnDevice reports whether a banner is for the auction's device and has an asset that may be shown in the slot on
// it.
func (s *Scratch) showsOnDevice(ad *market.Ad) bool {
	if ad.Device != NoDevice && ad.Device != s.device() {
		return false
	}
	for i := range ad.Assets {
		if s.shows(&ad.Assets[i]) {
			return true
		}
	}
	return false
}

// device returns the auction's device. A banner auction without a device is for desktops.
func (s *Scratch) device() Device {
	if s.a.Device == NoDevice {
		return Desktop
	}
	return s.a.Device
}

// shows reports whether an asset is approved and fits the slot on the auction's device. An asset without dimensions
// fits on every device on which the slot is shown. A slot without any dimensions is shown on every device and accepts
// every asset.
func (s *Scratch) shows(a *market.AdAsset) bool {
	slot := s.place.Dimensions[s.device()]
	var nothing model.Dimensions
	switch {
	case !s.v.Approved(a):
		return false
	case s.place.Dimensions == [model.Devices]model.Dimensions{}:
		return true
	case slot == nothing:
		return false
	}
	return a.Dimensions == nothing || a.Dimensions == slot
}
