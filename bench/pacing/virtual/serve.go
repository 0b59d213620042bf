package virtual

import (
	"math"

	"github.com/gavel-ads/gavel/bench/pacing/policy"
	"github.com/gavel-ads/gavel/bench/pacing/scenario"
	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// request builds the engine's requests. All product ids are in one body, so that a request only lists spans.
type request struct {
	auction.Request
	products []auction.ID // By offer, and then those of external bids.
	source   auction.Span
	position []int32 // By offer: its candidate in this request, valid for the candidates of the request only.
}

func (q *request) init(v *market.View, day *scenario.Day) {
	q.Seed = v.Seed(marketplace)
	q.Auctions = make([]auction.Auction, 1)
	for i := range day.Offers {
		q.add(productID(i))
	}
	for i := range externalProducts {
		q.add(externalID(i))
	}
	q.source = auction.Span{Off: uint32(len(q.Body)), Len: 1}
	q.Body = append(q.Body, 'x')
	q.position = make([]int32, len(day.Offers))
}

func (q *request) add(id string) {
	span := auction.Span{Off: uint32(len(q.Body)), Len: uint32(len(id))} // At most 100,000 short ids.
	q.Body = append(q.Body, id...)
	q.products = append(q.products, auction.ID{Hash: market.Hash(q.Seed, []byte(id)), Span: span})
}

// serve runs the auction of a request on one of the nodes. external is the day's next external bid; serve returns the
// one after those of this request.
func (s *simulation) serve(index, external int) (next int) {
	q := &s.day.Requests[index]
	s.advance(q.Millis)
	from := external
	for external < len(s.day.External) && s.day.External[external].Request == int32(index) { // At most 20 million.
		external++
	}
	n := s.route(index)
	if n == nil {
		return external
	}
	candidates := s.day.Of(index)
	s.build(index, candidates, s.day.External[from:external])
	n.params.NowMillis, n.params.Seq = policy.Epoch+q.Millis, uint64(index)
	auction.Run(n.market.View(), &n.params, &s.request.Request, &n.results, &n.scratch)
	auction.RecordWins(n.market.View(), &n.results)
	n.auctions[kindOf(q.Banner)]++
	s.award(index, n, candidates, s.day.External[from:external])
	return external
}

// route returns the node that serves a request, nil if none runs.
func (s *simulation) route(index int) *node {
	at := s.day.Uniform(index, routing)
	for k, n := range s.nodes {
		if at < s.share[k] && !n.dead {
			return n
		}
	}
	for _, n := range s.nodes {
		if !n.dead {
			return n
		}
	}
	return nil
}

// Purposes of random values of a request that belong to no campaign.
const (
	routing = -1
	ingress = -2
	loss    = -3
)

// build fills the engine's request.
func (s *simulation) build(index int, candidates []scenario.Candidate, external []scenario.External) {
	a := &s.request.Auctions[0]
	a.Kind, a.HasProducts, a.HasExternal = auction.Listings, true, len(external) > 0
	a.Slots = s.day.SlotsOf(&s.day.Requests[index])
	a.Products, a.Quality, a.External = a.Products[:0], a.Quality[:0], a.External[:0]
	for i := range candidates {
		c := &candidates[i]
		if s.admit != nil && !s.admit.Admit(c, s.day.Uniform(index, c.Offer)) {
			continue
		}
		s.request.position[c.Offer] = int32(i) // Few candidates.
		a.Products = append(a.Products, s.request.products[c.Offer])
		a.Quality = append(a.Quality, c.Quality)
	}
	own := len(s.request.products) - externalProducts
	for i := range external {
		id := s.request.products[own+i]
		a.Products = append(a.Products, id)
		a.Quality = append(a.Quality, external[i].Quality)
		a.External = append(a.External, auction.ExternalBid{Product: id, Source: s.request.source, Amount: money.Micros(external[i].Bid)})
	}
}

// award counts the winners, and sends the clicks of their ads on the way.
func (s *simulation) award(index int, n *node, candidates []scenario.Candidate, external []scenario.External) {
	winners := n.results.Results[0].Winners
	observed := 0
	for rank := range winners {
		w := &winners[rank]
		visibility := scenario.Visibility(rank)
		number := numberOf(w.ID)
		if w.Campaign == nil {
			s.out.External += float64(external[number].Bid) * float64(external[number].Click) * visibility
			continue
		}
		c := &candidates[s.request.position[number]]
		cost := int64(w.Expected)
		s.leader.learnImpression(int(c.Campaign), visibility)
		s.out.win(s.now, s.day, c, visibility, int64(w.Price))
		s.click(index, c, int64(w.Price), visibility)
		if s.admit != nil {
			s.admit.Won(c, cost)
		}
		if s.observe != nil {
			s.observeCampaign(c.Campaign, cost)
			s.request.position[number] = won
			observed++
		}
	}
	if s.observe != nil {
		for i := range candidates {
			if s.request.position[candidates[i].Offer] != won {
				s.observeCampaign(candidates[i].Campaign, 0)
			}
		}
	}
}

// won marks an offer in request.position that has been observed.
const won = -1

// observeCampaign lets a policy learn from one auction, and gives its word to all nodes at once.
func (s *simulation) observeCampaign(campaign int32, cost int64) {
	word := s.observe.Observe(campaign, cost)
	s.leader.words[campaign] = word
	for _, n := range s.nodes {
		n.balances[campaign].Pacing.Store(word)
	}
}

// click sends the click of an ad, if there is one, on its way. An impression of a campaign that pays for
// impressions is billed like a click that always comes.
func (s *simulation) click(index int, c *scenario.Candidate, price int64, visibility float64) {
	q, impression := &s.day.Requests[index], s.day.Campaigns[c.Campaign].Banner
	after, clicked := s.day.Click(index, c, visibility)
	if clicked {
		s.out.Clicks[c.Campaign]++
	}
	if impression {
		after = bannerMillis
	} else if clicked {
		s.leader.delay.learn(math.Min(float64(after), delayCut) / 1000)
	}
	if !impression && !clicked {
		return
	}
	to := int(s.day.Uniform(index, ingress) * float64(len(s.nodes)))
	s.clicks.push(click{at: q.Millis + after, order: uint64(index)<<8 | uint64(c.Campaign&0xff), price: price, campaign: c.Campaign, node: int32(to)})
}

const (
	bannerMillis = 1_000     // From an auction to its impression.
	delayCut     = 3_600_000 // A longer delay says nothing about the hold.
)

// numberOf returns the number in a product id.
func numberOf(id []byte) (number int) {
	for _, digit := range id[1:] {
		number = 10*number + int(digit-'0')
	}
	return number
}

// shares returns the cumulative traffic of the nodes.
func shares(nodes int, skew float64) []float64 {
	cumulative, sum := make([]float64, nodes), 0.
	for k := range cumulative {
		sum += math.Pow(float64(k+1), -skew)
		cumulative[k] = sum
	}
	for k := range cumulative {
		cumulative[k] /= sum
	}
	return cumulative
}

func kindOf(banner bool) int {
	if banner {
		return 1
	}
	return 0
}
