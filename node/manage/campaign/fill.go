package campaign

import (
	"context"

	"github.com/gavel-ads/gavel/node/manage/resource"
)

// ExplainFill says how often places had a winner, from a sample of the auctions.
type ExplainFill struct {
	Every   uint64             `json:"every" doc:"One in this many requests was recorded, on average; 0: none (explain.sample)."`
	From    string             `json:"from" format:"date-time" doc:"All requests from here on had the same chance to be recorded."`
	Places  []ExplainPlaceFill `json:"places" doc:"Those with the most recorded auctions first, at most 1,000."`
	HasMore bool               `json:"hasMore" doc:"True if more places have recorded auctions."`
}

// ExplainPlaceFill counts the recorded auctions of a place.
type ExplainPlaceFill struct {
	ResultType string `json:"resultType" enum:"banners,brand" doc:"banners: of a slot; brand: of a placement."`
	Name       string `json:"name" doc:"As the requests named the slot or placement, which may be unknown: the external id, or the UUID of a placement."`
	Auctions   int    `json:"auctions" doc:"Recorded auctions for the place."`
	Filled     int    `json:"filled" doc:"Auctions with at least one winner."`
}

type fillOutput struct{ Body ExplainFill }

func (s explainService) fill(ctx context.Context, _ *nothing) (*fillOutput, error) {
	f := s.core.Fill(resource.CallerOf(ctx).Marketplace, s.now())
	out := ExplainFill{Every: f.Every, From: timeText(f.From), Places: make([]ExplainPlaceFill, len(f.Places)), HasMore: f.More}
	for i, p := range f.Places {
		out.Places[i] = ExplainPlaceFill(p)
	}
	return &fillOutput{out}, nil
}
