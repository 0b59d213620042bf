package report

import (
	"math"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// Auctions counts the auctions that a campaign, or the campaigns of a vendor or of the marketplace, won and lost.
type Auctions struct {
	Won           int64            `json:"won" doc:"Auctions that at least one bid of the campaign has won."`
	Lost          int64            `json:"lost" doc:"Auctions in which bids of the campaign took part and none won. Exact if counted is the same number; else estimated."`
	PercentageWon float64          `json:"percentageWon" doc:"Won / (won + lost) x 100, rounded to 4 decimals; 0 without auctions."`
	Reasons       map[string]int64 `json:"reasons" doc:"The lost auctions by reason, without reasons that did not occur: the reason of that bid of the campaign which came furthest. The names are those of the explanations of auctions."`
	Counted       int64            `json:"counted" doc:"The number of lost auctions whose losers were looked at. A node with more than 4,096 auctions a second looks at some requests, chosen at random, and counts each of their losers several times."`
}

func auctionsOf(a *rollup.Auctions) *Auctions {
	all := &Auctions{Won: a.Won, Lost: a.LostTotal(), Reasons: map[string]int64{}, Counted: a.Lost[0]}
	for number, n := range a.Lost[1:] {
		if reason, known := auction.ReasonNumbered(uint8(number + 1)); known && n > 0 { // Below rollup.LossReasonsMax.
			all.Reasons[reason.String()] = n
		}
	}
	if sum := all.Won + all.Lost; sum > 0 {
		all.PercentageWon = math.Round(float64(all.Won)/float64(sum)*1e6) / 1e4
	}
	return all
}
