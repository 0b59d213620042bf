package campaign

import (
	"context"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

// Target is what a bid promotes.
type Target struct {
	Type string `json:"type" enum:"product"`
	ID   string `json:"id" minLength:"1" maxLength:"255"`
}

// BidBody is a bid as the marketplace sends it.
type BidBody struct {
	Target   Target    `json:"target"`
	Amount   int64     `json:"amount" minimum:"1" maximum:"20000000000" doc:"Minor units: highest price per click, per 1,000 impressions, or per purchase."`
	IsActive *bool     `json:"isActive,omitempty" doc:"Default true."`
	Location string    `json:"location,omitempty" maxLength:"255"`
	Triggers []Trigger `json:"triggers,omitempty" maxItems:"50" doc:"Default: product and categories of the target."`
	Trigger  *Trigger  `json:"trigger,omitempty" doc:"Alias of triggers, one object."`
}

// BidPatchBody changes the members it has.
type BidPatchBody struct {
	Amount   *int64    `json:"amount,omitempty" minimum:"1" maximum:"20000000000"`
	IsActive *bool     `json:"isActive,omitempty"`
	Location string    `json:"location,omitempty" maxLength:"255"`
	Triggers []Trigger `json:"triggers,omitempty" maxItems:"50"`
	Trigger  *Trigger  `json:"trigger,omitempty"`
}

// Bid is a bid as it is answered.
type Bid struct {
	BidID      string        `json:"bidId" format:"uuid"`
	CampaignID string        `json:"campaignId" format:"uuid"`
	Target     Target        `json:"target"`
	Amount     int64         `json:"amount"`
	IsActive   bool          `json:"isActive"`
	Location   *string       `json:"location"`
	Triggers   []Trigger     `json:"triggers"`
	State      string        `json:"state" enum:"active,paused,rejected"`
	CreatedAt  resource.Time `json:"createdAt"`
	UpdatedAt  resource.Time `json:"updatedAt"`
}

// BidList is one page of bids.
type BidList struct {
	Bids    []Bid `json:"bids"`
	HasMore bool  `json:"hasMore"`
	Next    *Next `json:"next"`
}

// BidsBody adds bids.
type BidsBody struct {
	Bids []BidBody `json:"bids" minItems:"1" maxItems:"500"`
}

type (
	addBidsInput struct {
		OneCampaign
		Body BidsBody
	}
	listBidsInput struct {
		OneCampaign
		Offset int `query:"offset" minimum:"0" maximum:"1000000" default:"0"`
		Limit  int `query:"limit" minimum:"1" maximum:"100" default:"100"`
	}
	oneBid struct {
		OneCampaign
		BidID string `path:"bid_id" format:"uuid"`
	}
	patchBidInput struct {
		OneCampaign
		BidID string `path:"bid_id" format:"uuid"`
		Body  BidPatchBody
	}
	bidOutput     struct{ Body Bid }
	bidListOutput struct{ Body BidList }
)

// marketBids turns bids into the engine's, with every trigger made explicit.
func marketBids(all []BidBody, auto bool, exponent uint8, loc ...any) (bids []market.Bid, found []resource.Violation) {
	bids = make([]market.Bid, len(all))
	for i := range all {
		b := &all[i]
		at := append(append([]any{}, loc...), i)
		triggers, wrong := marketTriggers(b.Triggers, b.Trigger, at)
		found = append(found, wrong...)
		bids[i] = market.Bid{
			Target: b.Target.ID, Amount: minor(b.Amount, exponent), Active: isTrue(b.IsActive, true), Location: b.Location,
			Triggers: withDefaults(triggers, b.Target.ID, auto),
		}
	}
	return bids, found
}

func bidOf(campaign ids.UUID, rejected bool, b *market.Bid, exponent uint8) Bid {
	state := "active"
	switch {
	case rejected:
		state = "rejected"
	case !b.Active:
		state = "paused"
	}
	return Bid{
		BidID: b.ID.String(), CampaignID: campaign.String(), Target: Target{"product", b.Target},
		Amount: money.Minor(b.Amount, exponent), IsActive: b.Active, Location: textOf(b.Location),
		Triggers: triggersOf(b.Triggers), State: state,
		CreatedAt: resource.Time(b.CreatedMillis), UpdatedAt: resource.Time(b.UpdatedMillis),
	}
}

func (s service) addBids(ctx context.Context, in *addBidsInput) (*bidListOutput, error) {
	st := storeOf(ctx)
	exponent := st.Settings().CurrencyExponent
	c, err := st.Campaign(ctx, in.id())
	auto := err == nil && c.AutoTrigger
	bids, found := marketBids(in.Body.Bids, auto, exponent, "body", "bids")
	switch {
	case len(found) > 0:
		return nil, resource.Invalid(found...)
	case err != nil:
		return nil, resource.Of(err)
	}
	if err := st.AddBids(ctx, in.id(), bids); err != nil {
		return nil, resource.OfLimit(err, "the campaign would have more than 5,000 bids")
	}
	return &bidListOutput{BidList{Bids: bidsOf(in.id(), c.Status == market.Rejected, bids, exponent)}}, nil
}

func bidsOf(campaign ids.UUID, rejected bool, bids []market.Bid, exponent uint8) []Bid {
	all := make([]Bid, len(bids))
	for i := range bids {
		all[i] = bidOf(campaign, rejected, &bids[i], exponent)
	}
	return all
}

func (s service) listBids(ctx context.Context, in *listBidsInput) (*bidListOutput, error) {
	st := storeOf(ctx)
	c, err := st.Campaign(ctx, in.id())
	if err != nil {
		return nil, resource.Of(err)
	}
	bids, more, err := st.Bids(ctx, in.id(), in.Offset, in.Limit)
	if err != nil {
		return nil, resource.Of(err)
	}
	all := bidsOf(in.id(), c.Status == market.Rejected, bids, st.Settings().CurrencyExponent)
	return &bidListOutput{BidList{all, more, nextOf(more, in.Offset, in.Limit)}}, nil
}

func (s service) patchBid(ctx context.Context, in *patchBidInput) (*bidOutput, error) {
	st := storeOf(ctx)
	triggers, found := marketTriggers(in.Body.Triggers, in.Body.Trigger, []any{"body"})
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	defer s.bids.lock(resource.ParseUUID(in.BidID))()
	c, err := st.Campaign(ctx, in.id())
	if err != nil {
		return nil, resource.Of(err)
	}
	b, err := st.Bid(ctx, in.id(), resource.ParseUUID(in.BidID))
	if err != nil {
		return nil, resource.Of(err)
	}
	if c.Status == market.Terminated {
		return nil, resource.Refuse(apierr.InvalidOperation, "the campaign is terminated")
	}
	exponent := st.Settings().CurrencyExponent
	if in.Body.Amount != nil {
		b.Amount = minor(*in.Body.Amount, exponent)
	}
	b.Active = isTrue(in.Body.IsActive, b.Active)
	if in.Body.Location != "" {
		b.Location = in.Body.Location
	}
	if triggers != nil {
		b.Triggers = withDefaults(triggers, b.Target, c.AutoTrigger)
	}
	if err := st.ReplaceBid(ctx, in.id(), b); err != nil {
		return nil, resource.Of(err)
	}
	if b, err = st.Bid(ctx, in.id(), b.ID); err != nil { // With its new time.
		return nil, resource.Of(err)
	}
	return &bidOutput{bidOf(in.id(), c.Status == market.Rejected, &b, exponent)}, nil
}

func (s service) removeBid(ctx context.Context, in *oneBid) (*struct{}, error) {
	st := storeOf(ctx)
	defer s.bids.lock(resource.ParseUUID(in.BidID))()
	b, err := st.Bid(ctx, in.id(), resource.ParseUUID(in.BidID))
	if err != nil {
		return nil, resource.Of(err)
	}
	b.Deleted = true
	return nil, resource.Of(st.ReplaceBid(ctx, in.id(), b))
}
