package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/money"
)

const (
	explainBase = "/public/v1/auctions"
	explainTag  = "Explain"
)

// ExplainCore runs auctions and explains them.
type ExplainCore interface {
	Explain(ctx context.Context, marketplace uint16, operation string, body []byte, now time.Time) (serving.Explanation, apierr.Code, string, error)
	Recent(marketplace uint16) (all []serving.Explanation, every uint64)
	Fill(marketplace uint16, now time.Time) serving.Fill
	Recorded(ctx context.Context, marketplace uint16, now time.Time) (serving.Recorded, apierr.Code, error)
}

type explainService struct {
	core ExplainCore
	now  func() time.Time
}

// RegisterExplain mounts the operations.
func RegisterExplain(api huma.API, core ExplainCore, now func() time.Time) {
	s := explainService{core, now}
	resource.Add(api, resource.Op{
		ID: "explainAuctions", Method: http.MethodPost, Path: explainBase + "/explain", Tag: explainTag, Background: limits.KindExplain,
		Doc: "Run the auctions of a body of /v2 without effect, and explain the result of every bid. A body that /v2 would refuse is " +
			"refused with the same error.",
	}, s.explain)
	resource.Add(api, resource.Op{
		ID: "listRecentAuctions", Method: http.MethodGet, Path: explainBase + "/recent", Tag: explainTag,
		Doc: "Some of the live auctions that this node answered, explained, newest first.",
	}, s.recent)
	resource.Add(api, resource.Op{
		ID: "listFill", Method: http.MethodGet, Path: explainBase + "/fill", Tag: explainTag,
		Doc: "How many of the recorded auctions of this node had a winner, by slot of banners and by placement of sponsored brands.",
	}, s.fill)
	resource.Add(api, resource.Op{
		ID: "exportRecordedAuctions", Method: http.MethodGet, Path: explainBase + "/recorded", Tag: explainTag, Background: limits.KindExplain,
		Doc: "The recorded auctions of this node with every bid that could have competed, without anything about shoppers: the traffic of " +
			"`gavel simulate --traffic`, which `gavel record export` stores.",
	}, s.recorded)
}

// ExplainRecent are explanations of live auctions.
type ExplainRecent struct {
	Every  uint64                `json:"every" doc:"One in this many requests is kept, on average; 0: none (explain.sample)."`
	Recent []serving.Explanation `json:"recent"`
}

type (
	explainInput struct {
		Operation string          `query:"operation" enum:"auctions,sponsored-brand,travel" doc:"The operation of /v2 that the body is for: the last part of its path. Default auctions."`
		Body      resource.Object `doc:"A body of that operation."`
	}
	explainOutput struct{ Body serving.Explanation }
	nothing       struct{}
	recentInput   struct {
		After string `query:"after" format:"date-time" doc:"Only auctions that were answered later: the time of the newest one that the caller has."`
	}
	recentOutput struct{ Body ExplainRecent }
)

func (s explainService) explain(ctx context.Context, in *explainInput) (*explainOutput, error) {
	operation := cmp.Or(in.Operation, serving.ExplainOperations[0])
	e, code, message, err := s.core.Explain(ctx, resource.CallerOf(ctx).Marketplace, operation, in.Body, s.now())
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	if code != apierr.OK {
		return nil, resource.Refuse(code, message)
	}
	if err := addBidIDs(ctx, e.Auctions); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &explainOutput{e}, nil
}

func (s explainService) recent(ctx context.Context, in *recentInput) (*recentOutput, error) {
	all, every := s.core.Recent(resource.CallerOf(ctx).Marketplace)
	all = answeredAfter(all, in.After)
	for i := range all {
		// OWNERSHIP: the core owns the explanations, so ids are added to a copy.
		all[i].Auctions = slices.Clone(all[i].Auctions)
		for k := range all[i].Auctions {
			a := &all[i].Auctions[k]
			a.Candidates = slices.Clone(a.Candidates)
		}
		if err := addBidIDs(ctx, all[i].Auctions); err != nil {
			return nil, resource.ErrorOf(err)
		}
	}
	return &recentOutput{ExplainRecent{every, all}}, nil
}

// answeredAfter returns those explanations, of which the newest is the first, that are of a later millisecond than a time; all of them if
// it is empty. The result is not nil.
func answeredAfter(all []serving.Explanation, after string) []serving.Explanation {
	if all == nil {
		return []serving.Explanation{}
	}
	if after == "" {
		return all
	}
	at, err := time.Parse(time.RFC3339, after)
	if err != nil {
		panic("the kit has checked this time")
	}
	end := slices.IndexFunc(all, func(e serving.Explanation) bool {
		answered, err := time.Parse(time.RFC3339, e.At)
		return err != nil || !answered.After(at)
	})
	if end < 0 {
		return all
	}
	return all[:end]
}

// addBidIDs gives every candidate of the marketplace's own demand the id of its bid, with which the bid can be changed, and the bid
// amount where a target return lets it bid less. Candidates of a campaign that does not exist any more get none.
func addBidIDs(ctx context.Context, auctions []serving.ExplainedAuction) error {
	st := resource.Tenant(ctx)
	byCampaign := map[string][]*serving.Candidate{}
	for i := range auctions {
		for k := range auctions[i].Candidates {
			if c := &auctions[i].Candidates[k]; c.CampaignID != "" {
				byCampaign[c.CampaignID] = append(byCampaign[c.CampaignID], c)
			}
		}
	}
	for campaign, candidates := range byCampaign {
		ordinals := make([]uint32, len(candidates))
		for i, c := range candidates {
			ordinals[i] = c.BidNumber
		}
		names, err := st.NamedBids(ctx, resource.ParseUUID(campaign), ordinals)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		for _, c := range candidates {
			x, found := names[c.BidNumber]
			if !found {
				continue
			}
			c.BidID = x.ID.String()
			if x.Ceiling != 0 {
				c.Ceiling = json.Number(strconv.FormatInt(money.Minor(x.Ceiling, st.Settings().CurrencyExponent), 10))
			}
		}
	}
	return nil
}
