package returns

import "github.com/gavel-ads/gavel/shard/money"

// candidate is a campaign in an auction.
type candidate struct {
	campaign int
	bid      float64
	click    float64 // Probability of a click in the first slot.
	score    float64
}

// auction sells the slots of one request by bid x click rate: each winner pays for a click what it needs to stay before
// the next one, at least the reserve price.
func (s *simulation) auction() {
	s.candidates = s.candidates[:0]
	for _, i := range s.byCategory[s.category()] {
		c := &s.campaigns[i]
		c.served.Auctions++
		if s.random.Float64() >= competes*c.pass {
			continue
		}
		bid := float64(c.base) * c.factor
		left := c.budget - c.spent
		if bid <= reserve || left <= 0 {
			continue
		}
		click := c.ctr * (0.7 + 0.6*s.random.Float64())
		s.insert(candidate{i, min(bid, float64(left)), click, min(bid, float64(left)) * click})
	}
	for slot := range min(slots, len(s.candidates)) {
		c := &s.candidates[slot]
		price := float64(reserve)
		if slot+1 < len(s.candidates) {
			price = max(price, s.candidates[slot+1].score/c.click)
		}
		price = min(price, c.bid)
		probability := c.click * exposure[slot]
		x := &s.campaigns[c.campaign]
		x.served.Wins++
		x.served.Expected += money.Micros(price * probability)
		if s.random.Float64() < probability {
			s.click(c.campaign, int64(price))
		}
	}
}

// insert keeps the best candidates, one more than there are slots, in the order of their scores.
func (s *simulation) insert(c candidate) {
	at := len(s.candidates)
	s.candidates = append(s.candidates, c)
	for ; at > 0 && s.candidates[at-1].score < c.score; at-- {
		s.candidates[at] = s.candidates[at-1]
	}
	s.candidates[at] = c
	if len(s.candidates) > slots+1 {
		s.candidates = s.candidates[:slots+1]
	}
}
