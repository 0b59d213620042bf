package serving

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/gavel-ads/gavel/shard/auction"
	"github.com/gavel-ads/gavel/shard/learn"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/pacing"
)

const (
	timeFormat = "2006-01-02T15:04:05.000Z"
	// explainedMax is how many candidates of an auction are listed. BOUND: it bounds the size of an answer.
	explainedMax = 1_000
	// gatheredMax is how many candidates are gathered before the best are chosen. BOUND: it bounds memory. Winners are
	// gathered beyond it.
	gatheredMax = 20_000
)

// Explanation is one request for auctions with the outcome of every bid that could have competed.
type Explanation struct {
	At        string             `json:"at" format:"date-time"`
	Operation string             `json:"operation" enum:"auctions,sponsored-brand,travel"`
	Auctions  []ExplainedAuction `json:"auctions"`
}

// ExplainedAuction is one auction of an Explanation.
type ExplainedAuction struct {
	ResultType string            `json:"resultType"`
	Bucket     int               `json:"placementId,omitempty" doc:"The experiment bucket that the request named."`
	Variant    string            `json:"experimentVariant,omitempty" doc:"The experiment variant that the request named."`
	Slots      int               `json:"slots" doc:"Winners wanted."`
	Winners    int               `json:"winners"`
	Lost       map[string]uint32 `json:"lost" doc:"How many bids lost for which reason, the omitted ones included."`
	Candidates []Candidate       `json:"candidates" doc:"Winners by rank, then losers, the best first."`
	Omitted    int               `json:"omitted" doc:"Losers that are not listed."`
	Notes      []string          `json:"notes" doc:"What the auction names that is not in the catalog."`
}

// Candidate is a bid with its outcome and the values that decided it. Amounts are in minor units and may have fractions.
type Candidate struct {
	Outcome      string      `json:"outcome" enum:"won,lost"`
	Rank         int         `json:"rank,omitempty" doc:"Of a winner."`
	Price        json.Number `json:"price,omitempty" doc:"Of a winner, for the interaction that is charged."`
	Reason       string      `json:"reason,omitempty" doc:"Of a loser: the first gate that it failed."`
	CampaignID   string      `json:"campaignId,omitempty" doc:"Absent for external demand."`
	BidID        string      `json:"bidId,omitempty" doc:"Absent for external demand."`
	BidNumber    uint32      `json:"-"` // The bid's ordinal in the campaign's group, by which the management API finds its id.
	VendorID     string      `json:"vendorId,omitempty"`
	DemandSource string      `json:"demandSource,omitempty" doc:"Of external demand."`
	DemandBid    *uint32     `json:"demandBid,omitempty" doc:"Of external demand: the position among the auction's external bids, from 0."`
	Type         string      `json:"type" enum:"product,vendor,brand,url"`
	ID           string      `json:"id"`
	VariationID  string      `json:"variationID,omitempty"`
	ChargeType   string      `json:"chargeType" enum:"CPC,CPM,CPA"`
	Bid          json.Number `json:"bid" doc:"With a target return the base bid, which follows from the target and the product's price."`
	Ceiling      json.Number `json:"ceiling,omitempty" doc:"With a target return: the bid amount, which the base bid never exceeds."`
	Worth        json.Number `json:"worth" doc:"The bid after the campaign's schedule and the user's segments."`
	Shaded       json.Number `json:"shaded" doc:"The worth after pacing: not above it."`
	Competing    json.Number `json:"competing" doc:"What the bid competes with: shaded, and at most what is left of budget and wallet for one interaction."`
	Reserve      json.Number `json:"reserve" doc:"The worth has to be above it."`
	Remaining    json.Number `json:"remaining,omitempty" doc:"Of the budget; absent without one. It has to be above hold and pending together."`
	Wallet       json.Number `json:"wallet,omitempty" doc:"Absent in billing mode post. It has to be above walletHold and pending together."`
	Hold         json.Number `json:"hold,omitempty" doc:"Expected cost of the campaign's ads on all nodes that are not clicked yet; absent for external demand."`
	WalletHold   json.Number `json:"walletHold,omitempty" doc:"The sum of hold over all campaigns of the wallet."`
	Pending      json.Number `json:"pending,omitempty" doc:"Expected cost of wins of the last seconds that hold may not contain yet: those of this node times the number of nodes."`
	Pacing       float64     `json:"pacing" doc:"Probability that pacing lets the campaign compete; below 1, the draw has to be below it."`
	Draw         float64     `json:"draw" doc:"The number from 0 to 1 chosen at random for the campaign in this request; 0 for external demand."`
	Quality      float64     `json:"quality"`
	ClickRate    float64     `json:"clickRate" doc:"Predicted clicks of an impression at the first rank, from the clicks on this ad at this placement so far."`
	Learned      float64     `json:"learnedQuality" doc:"The factor that the marketplace's setting learnedQuality makes of the click rate; it multiplies the quality. 1 without the setting."`
	Score        float64     `json:"score" doc:"Comparable within the auction; 0 when a gate came before."`
	Against      *Rival      `json:"against,omitempty" doc:"The winner that the bid would have had to beat."`
	Needed       json.Number `json:"needed,omitempty" doc:"The least bid that would have won; absent when none would have, or when it is not known. Ties go as they did here."`

	// ResolvedBidID is set for winners of sampled live requests.
	ResolvedBidID string `json:"resolvedBidId,omitempty" doc:"Of a winner of a live auction: the id that its events send back. Absent for external demand."`
}

// Rival is a winner that another bid would have had to beat.
type Rival struct {
	Rank  int         `json:"rank"`
	Price json.Number `json:"price"`
	Score float64     `json:"score"`
}

// gathering collects the candidates of one auction, which the engine reports in no particular order.
type gathering struct {
	all     []gathered
	omitted int
}

// gathered is a candidate with the values by which candidates are ordered.
type gathered struct {
	Candidate

	won    bool
	hi, lo uint64
	gate   auction.Reason
}

func (g *gathering) add(x *explainer, i int, f *auction.BidExplanation) {
	if len(g.all) >= gatheredMax && !f.Won {
		g.omitted++
		return
	}
	exponent := x.marketplace.CurrencyExponent
	minor := func(m money.Micros) json.Number { return json.Number(minorUnits(m, exponent)) }
	c := Candidate{
		Outcome: "lost", BidNumber: f.Bid, VendorID: string(f.Vendor.Bytes), Type: f.Type.String(), ID: string(f.Target.Bytes),
		VariationID: string(f.Variation), ChargeType: chargeNames[f.Charge], Bid: minor(f.Amount), Worth: minor(f.Adjusted),
		Shaded: minor(f.Shaded), Competing: minor(f.Competing), Draw: float64(f.Draw) / (1 << 32),
		Reserve: minor(f.Reserve), Pacing: probability(f.PassProbability), Quality: float64(f.Quality) / (1 << 60),
		ClickRate: math.Round(float64(f.ClickRate)/(1<<32)*1e6) / 1e6,
		Learned:   math.Round(float64(f.LearnedQuality)/learn.One*1e4) / 1e4,
		Score:     score(f.ScoreHi, f.ScoreLo, exponent),
	}
	if f.Campaign != nil {
		c.CampaignID = string(f.Campaign[:])
		c.Remaining, c.Wallet = bounded(f.BudgetLeft, minor), bounded(f.WalletBalance, minor)
		c.Hold, c.WalletHold, c.Pending = minor(f.Hold), minor(f.WalletHold), minor(f.Pending)
	} else {
		c.DemandSource, c.DemandBid = string(x.request.Text(x.request.Auctions[i].External[f.Bid].Source)), new(f.Bid)
	}
	if f.Won {
		c.Outcome, c.Rank, c.Price = "won", int(f.Rank), minor(f.Price)
	} else {
		c.Reason = f.Reason.String()
	}
	if f.AgainstRank > 0 {
		c.Against = &Rival{int(f.AgainstRank), minor(f.AgainstPrice), score(f.AgainstHi, f.AgainstLo, exponent)}
	}
	if f.Needed > 0 {
		c.Needed = minor(f.Needed)
	}
	g.all = append(g.all, gathered{c, f.Won, f.ScoreHi, f.ScoreLo, f.Reason})
}

// bounded formats an amount. It returns an empty text for math.MaxInt64, which means that there is no bound.
func bounded(m money.Micros, minor func(money.Micros) json.Number) json.Number {
	if m == math.MaxInt64 {
		return ""
	}
	return minor(m)
}

// auction returns the explained auction with its candidates in order: winners by rank, then losers by score, then by the
// number of gates that they passed, then by the bid.
func (g *gathering) auction(x *explainer, i int) ExplainedAuction {
	result, asked := &x.results.Results[i], &x.request.Auctions[i]
	slices.SortFunc(g.all, func(a, b gathered) int {
		if a.won != b.won {
			if a.won {
				return -1
			}
			return 1
		}
		return cmp.Or(
			cmp.Compare(a.Rank, b.Rank), cmp.Compare(b.hi, a.hi), cmp.Compare(b.lo, a.lo), cmp.Compare(b.gate, a.gate),
			cmp.Compare(a.CampaignID, b.CampaignID), cmp.Compare(a.BidNumber, b.BidNumber), cmp.Compare(a.ID, b.ID),
		)
	})
	e := ExplainedAuction{
		ResultType: resultNames[result.Type], Bucket: int(result.PlacementIndex), Variant: string(result.Variant), Slots: asked.Slots, Winners: len(result.Winners), Lost: map[string]uint32{}, Omitted: g.omitted,
		Candidates: []Candidate{}, Notes: x.notes(asked),
	}
	for reason, n := range result.Lost {
		if n > 0 {
			e.Lost[auction.Reason(reason).String()] = n // Fewer than 256.
		}
	}
	for k := range g.all {
		if k >= x.candidatesMax && !g.all[k].won {
			e.Omitted++
			continue
		}
		e.Candidates = append(e.Candidates, g.all[k].Candidate)
	}
	return e
}

var (
	chargeNames = [model.ChargeTypes]string{model.CPC: "CPC", model.CPM: "CPM", model.CPA: "CPA"}
	resultNames = [...]string{
		auction.ListingsResult: "listings", auction.BannersResult: "banners", auction.ExternalListingsResult: "external_demand_listings",
		auction.BrandResult: "brand", auction.HotelsResult: "hotels", auction.FlightsResult: "flights",
	}
)

func microsPerMinor(exponent uint8) int64 {
	per := int64(1)
	for range 6 - int(exponent) {
		per *= 10
	}
	return per
}

// minorUnits formats an amount in minor units exactly, as a decimal without trailing zeros.
func minorUnits(m money.Micros, exponent uint8) string {
	per := microsPerMinor(exponent)
	whole, rest := int64(m)/per, int64(m)%per
	text := strconv.FormatInt(whole, 10)
	if rest == 0 {
		return text
	}
	if rest < 0 {
		rest = -rest
		if whole == 0 {
			text = "-0"
		}
	}
	digits := strconv.FormatInt(per+rest, 10)[1:] // Adding per keeps the leading zeros of rest.
	for digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return text + "." + digits
}

// score converts the two halves of a score into one number. Where all competing bids have one charge type, it is the bid of
// quality 1 with the same score, in minor units. Scores that differ below the precision of a float are ordered by their
// halves.
func score(hi, lo uint64, exponent uint8) float64 {
	return (float64(hi)*(1<<64) + float64(lo)) / (1 << 60) / float64(microsPerMinor(exponent))
}

func probability(pass uint64) float64 {
	if pass >= pacing.Always {
		return 1
	}
	return float64(pass) / (1 << 32)
}
