package auction

import (
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// This file reads learned click rates. Most auctions read them for their winners only, because a token says how likely its
// win is charged. They read them for all candidates when these have to be compared by click rate: bids per impression with
// others, or bids of a marketplace with a learned quality exponent. A rate is read once for each candidate, so that score,
// price and token use the same.

// formats holds the ad format of each kind of auction.
var formats = [...]model.AdFormat{
	Listings: model.Listing, Banners: model.Banner, SponsoredBrand: model.SponsoredBrand, Hotels: model.Listing,
	Flights: model.Listing,
}

// comparesRates reports whether the scores of the candidates depend on their click rates.
func (s *Scratch) comparesRates() bool {
	return s.settings.LearnedQualityMilli > 0 || s.types&cpmBit != 0 && s.types != cpmBit
}

// readClickRates reads the click rates of all candidates.
func (s *Scratch) readClickRates() {
	for i := range s.candidates {
		s.prefetchClickRate(&s.candidates[i])
	}
	s.prefetcher.Flush()
	for i := range s.candidates {
		c := &s.candidates[i]
		c.click = s.clickRate(c)
	}
}

// prefetchWinners prefetches what clickRate reads for the winners that are charged by click. For products that the request
// names, lookUp has done that already.
func (s *Scratch) prefetchWinners() {
	if s.place == nil && s.a.HasProducts {
		return
	}
	for rank := range s.winners() {
		if c := s.winner(rank); c.click == 0 && c.charge != model.CPM {
			s.prefetchClickRate(c)
		}
	}
	s.prefetcher.Flush()
}

func (s *Scratch) prefetchClickRate(c *candidate) {
	s.prefetcher.AddAd(s.v, s.adKey(s.hits[c.hit].row, c.key, c.ad))
}

// clickRate returns the predicted click rate of a candidate at the first rank, in units of 1/2^32.
func (s *Scratch) clickRate(c *candidate) uint32 {
	if c.click != 0 {
		return c.click
	}
	return s.predict(s.hits[c.hit].row, c.key, c.ad)
}

// predict returns the predicted click rate of an ad at the first rank: that of the bid for a creative, and that of the
// product of a row for a listing, whoever bids on it.
func (s *Scratch) predict(row uint32, bid uint64, ad uint32) uint32 {
	return s.v.ClickRate(s.adKey(row, bid, ad), s.averageRate())
}

func (s *Scratch) adKey(row uint32, bid uint64, ad uint32) market.AdKey {
	if ad != 0 {
		return market.BidAd(bid, s.a.PlacementIndex)
	}
	return market.ProductAd(row, s.a.PlacementIndex)
}

// averageAd is the click rate of an average ad of a format at a placement, as the request has read it first.
type averageAd struct {
	format    model.AdFormat
	placement uint8
	learn.Prior
}

// averageRate returns the click rate of an average ad of the auction's format and placement. It reads it once for
// consecutive auctions of the same placement.
func (s *Scratch) averageRate() *learn.Prior {
	format, placement := formats[s.a.Kind], s.a.PlacementIndex
	if x := &s.average; x.Rate == 0 || x.format != format || x.placement != placement {
		*x = averageAd{format, placement, s.v.ClickPrior(s.t.Marketplace, format, placement)}
	}
	return &s.average.Prior
}

// learnedQuality returns the learned quality factor of a bid of a charge type among competing bids of the charge types t,
// in units of 1/learn.One: how much better its click rate is than that of an average ad, to the power of the marketplace's
// exponent. It is 1 where the weight contains the click rate already.
func (s *Scratch) learnedQuality(t chargeTypes, charge model.ChargeType, click uint32) uint64 {
	if s.settings.LearnedQualityMilli == 0 || t.containsRate(charge) {
		return learn.One
	}
	return learn.Factor(click, s.averageRate().Rate, s.settings.LearnedQualityMilli)
}

// weight returns the weight of a bid of a charge type on an entity of a quality, among competing bids of the charge types
// t. click is its click rate; it is not read unless comparesRates.
func (s *Scratch) weight(t chargeTypes, charge model.ChargeType, quality uint64, click uint32) uint64 {
	if factor := s.learnedQuality(t, charge, click); factor != learn.One {
		quality = learn.Scale(quality, factor)
	}
	return t.weight(charge, quality, click)
}
