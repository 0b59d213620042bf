package auction

import (
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// award fills the winners, each with its price and token.
func (s *Scratch) award(out *Result) {
	s.prefetchWinners()
	visibility := uint64(learn.One)
	for rank := range s.winners() {
		c := s.winner(rank)
		w := out.addWinner()
		w.Rank, w.Price = uint8(rank+1), s.price(rank) // At most SlotsMax.
		if c.ad != 0 {
			s.awardAd(out, w, c)
		} else {
			s.awardProduct(w, &s.hits[c.hit])
		}
		p := &s.payload
		p.Rank = w.Rank
		p.PlacementIndex = s.a.PlacementIndex
		p.Price = w.Price
		if c.campaign == 0 {
			s.awardExternal(w, p, int(c.key&^externalKey)) // A position.
		} else {
			s.awardOwn(w, p, c, s.chargeProbability(c, visibility))
		}
		s.t.Signer.Mint(&w.Token, p)
		visibility = learn.NextVisibility(rank, visibility)
	}
	s.prefetcher.Flush()
}

// addWinner appends an empty winner and returns it. It clears the element in place, because append would build a Winner
// elsewhere and copy it.
func (r *Result) addWinner() *Winner {
	n := len(r.Winners)
	if n == cap(r.Winners) {
		r.Winners = append(r.Winners, Winner{})
	}
	r.Winners = r.Winners[:n+1]
	w := &r.Winners[n]
	*w = Winner{}
	return w
}

func (s *Scratch) awardProduct(w *Winner, h *hit) {
	r := s.v.ProductRow(h.row)
	w.ID = s.v.Key(r)
	w.IDJSONSafe = r.Flags&market.ProductIDJSONSafe != 0
	if s.a.Kind == Flights && h.index != fromCategory {
		w.Variation = s.req.Text(s.a.Variations[h.index].Span)
	}
}

// awardOwn fills a winner of this marketplace. probability is that of a charge, in units of 1/2^32.
func (s *Scratch) awardOwn(w *Winner, p *bidid.Payload, c *candidate, probability uint64) {
	campaign := s.v.Campaign(c.campaign)
	if campaign.Flags&market.CampaignHoldout != 0 {
		s.enrolWinner(c.campaign)
	}
	w.Campaign, w.campaign = s.v.CampaignText(c.campaign), c.campaign
	s.prefetcher.AddCampaignText(w.Campaign)               // It is read when the answer is written.
	expected := expectedCost(uint64(w.Price), probability) // A price is not negative.
	s.addCost(expected)
	w.Expected = money.Micros(expected) // At most the price, or one micro.
	if s.a.HasExternal {
		w.DemandSource = s.v.OwnDemand(s.t.Marketplace)
	}
	p.External, p.ProductHash = false, 0
	p.Charge = c.charge
	p.Shard = ids.Shard(campaign.Shard)
	p.Weight = tokenWeight(probability)
	p.Campaign = campaign.Ordinal
	p.Bid = uint32(c.key) // The low half is the ordinal.
}

// awardExternal fills an external winner. Its token names the product by a hash that, unlike the hashes of the tables,
// is the same on every node and after every start.
func (s *Scratch) awardExternal(w *Winner, p *bidid.Payload, position int) {
	b := &s.a.External[position]
	hash := market.Hash(uint64(s.t.Marketplace), w.ID)
	w.DemandSource = s.req.Text(b.Source)
	if b.Metadata.Len > 0 {
		w.Metadata = s.req.Text(b.Metadata)
	}
	p.External, p.ProductHash = true, hash
	p.Charge = model.ChargeNone
	p.Shard = ids.Shard(hash) // Its low byte.
	p.Weight = 0
	p.Campaign, p.Bid = 0, 0
}

// chargeProbability returns the probability that a win of a candidate at a rank of a visibility is charged.
func (s *Scratch) chargeProbability(c *candidate, visibility uint64) uint64 {
	if c.charge == model.CPM {
		return chargeProbability(c.charge, visibility, 0)
	}
	return chargeProbability(c.charge, visibility, s.clickRate(c))
}

// chargeProbability returns the probability that a win is charged, in units of 1/2^32.
func chargeProbability(charge model.ChargeType, visibility uint64, click uint32) uint64 {
	if charge == model.CPM {
		return 1 << 32
	}
	probability := share(visibility<<16, uint64(click))
	if charge == model.CPA {
		probability = share(probability, priorPurchase)
	}
	return probability
}

// tokenWeight converts a probability from units of 1/2^32 to those of tokens: 1/2^16, rounded up, where 65535 means 1.
func tokenWeight(probability uint64) uint16 {
	return uint16(min(probability>>16+1, 1<<16-1)) // At most 65535.
}

// countLosers counts the candidates that did not win: as Diversity those whose product won with another bid, as
// Outranked the others.
func (s *Scratch) countLosers(out *Result) {
	if s.capped() {
		s.countCapped(out)
		return
	}
	won := s.winners()
	all, sameProduct := 0, 0
	for i := range s.hits {
		if h := &s.hits[i]; !h.wrongID {
			all += int(h.eligible)
		}
	}
	for _, at := range s.top[:won] {
		sameProduct += int(s.hits[at].eligible) - 1
	}
	out.Lost[Diversity] += uint32(sameProduct)             // A count.
	out.Lost[Outranked] += uint32(all - sameProduct - won) // A count.
}
