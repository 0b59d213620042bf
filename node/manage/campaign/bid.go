package campaign

import (
	"context"
	"slices"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/h3"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Target is what a bid promotes.
type Target struct {
	Type string `json:"type" enum:"product,vendor,brand,url" doc:"Listings promote products; banners also vendors, brands and URLs; sponsored brands promote brands, products and URLs."`
	ID   string `json:"id" minLength:"1" maxLength:"2083" doc:"At most 255 characters, unless type is url."`
}

// BidBody is a bid as the marketplace sends it.
type BidBody struct {
	Target   Target    `json:"target"`
	Amount   int64     `json:"amount" minimum:"1" maximum:"20000000000" doc:"Minor units: highest price per click, per 1,000 impressions, or per purchase."`
	IsActive *bool     `json:"isActive,omitempty" doc:"Default true."`
	Location string    `json:"location,omitempty" maxLength:"255"`
	Triggers []Trigger `json:"triggers,omitempty" maxItems:"50" doc:"Default: product and categories of a listing's target; none for other formats, so the bid matches every auction of its slot or placement."`
	Trigger  *Trigger  `json:"trigger,omitempty" doc:"Alias of triggers, one object."`

	FormatProperties *FormatProperties `json:"formatProperties,omitempty" doc:"Required for banners and sponsored brands, and for no others."`
}

// BidPatchBody changes the members that it contains.
type BidPatchBody struct {
	Amount   *int64                    `json:"amount,omitempty" minimum:"1" maximum:"20000000000"`
	IsActive *bool                     `json:"isActive,omitempty"`
	Location resource.Optional[string] `json:"location,omitzero" maxLength:"255" doc:"Null: the bid matches every location."`
	Triggers []Trigger                 `json:"triggers,omitempty" maxItems:"50"`
	Trigger  *Trigger                  `json:"trigger,omitempty"`
}

// Bid is a bid in answers.
type Bid struct {
	BidID      string    `json:"bidId" format:"uuid"`
	CampaignID string    `json:"campaignId" format:"uuid"`
	Target     Target    `json:"target"`
	Amount     int64     `json:"amount"`
	IsActive   bool      `json:"isActive"`
	Location   *string   `json:"location"`
	Triggers   []Trigger `json:"triggers"`
	State      string    `json:"state" enum:"active,paused,rejected"`

	FormatProperties *FormatProperties `json:"formatProperties"`

	CreatedAt resource.Time `json:"createdAt"`
	UpdatedAt resource.Time `json:"updatedAt"`
}

// BidList is one page of bids.
type BidList struct {
	Bids    []Bid `json:"bids"`
	HasMore bool  `json:"hasMore"`
	Next    *Next `json:"next"`
}

// BidsBody is a list of new bids.
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

// bidRules are the members of the campaign and of the marketplace that the bids of a request are checked with.
type bidRules struct {
	format   model.AdFormat
	auto     bool
	vendor   string
	products int
	exponent uint8
	h3       bool
	known    bool // False if the campaign is unknown, and so its format.
}

func bidRulesOf(c *model.Campaign, m *model.Marketplace) bidRules {
	return bidRules{c.Format, c.AutoTrigger, c.VendorID, len(c.Products), m.CurrencyExponent, m.H3, true}
}

// read converts bids to the engine's form, with all default triggers, and collects violations.
func (t *bidRules) read(all []BidBody, loc ...any) (bids []model.Bid, found []resource.Violation) {
	bids = make([]model.Bid, len(all))
	for i := range all {
		b := &all[i]
		f := violations{at: append(slices.Clip(loc), i)}
		kind := model.TargetProduct
		if t.known {
			kind = f.target(t.format, &b.Target)
			f.properties(t.format, b.FormatProperties)
		}
		t.location(&f, b.Location)
		triggers, wrong := marketTriggers(b.Triggers, b.Trigger, f.at)
		found = append(append(found, f.found...), wrong...)
		bids[i] = model.Bid{
			Target: b.Target.ID, TargetType: kind, Amount: campaigns.Amount(b.Amount, t.exponent), Active: isTrue(b.IsActive, true),
			Location: b.Location, Triggers: t.triggers(triggers, b.Target.ID), Creative: b.FormatProperties.creative(),
		}
	}
	return bids, found
}

// location checks that a location can be compared with those of auctions.
func (t *bidRules) location(f *violations, location string) {
	if location == "" || !t.h3 {
		return
	}
	if _, ok := h3.Parse([]byte(location)); !ok {
		f.add("value_error", "must be an H3 cell, as the marketplace's geoMode is h3", "location")
	}
}

// triggers adds the default triggers of the format.
func (t *bidRules) triggers(given []model.Trigger, target string) []model.Trigger {
	if t.format != model.Listing {
		return given
	}
	return withDefaults(given, target, t.auto)
}

func bidOf(c *model.Campaign, b *model.Bid, exponent uint8) Bid {
	state := "active"
	switch {
	case c.Status == model.Rejected:
		state = "rejected"
	case !b.Active:
		state = "paused"
	}
	return Bid{
		BidID: b.ID.String(), CampaignID: c.ID.String(), Target: Target{targetWords[b.TargetType], b.Target},
		Amount: money.Minor(b.Amount, exponent), IsActive: b.Active, Location: textOf(b.Location),
		Triggers: triggersOf(b.Triggers), FormatProperties: propertiesOf(c.Format, b.Creative), State: state,
		CreatedAt: resource.Time(b.CreatedMillis), UpdatedAt: resource.Time(b.UpdatedMillis),
	}
}

func (s service) addBids(ctx context.Context, in *addBidsInput) (*bidListOutput, error) {
	st := resource.Tenant(ctx)
	m := st.Settings()
	c, err := st.Campaign(ctx, in.id())
	t := bidRules{exponent: m.CurrencyExponent, h3: m.H3}
	if err == nil {
		t = bidRulesOf(&c.Campaign, &m)
	}
	bids, found := t.read(in.Body.Bids, "body", "bids")
	switch {
	case len(found) > 0:
		return nil, resource.Invalid(found...)
	case err != nil:
		return nil, resource.ErrorOf(err)
	}
	if err := t.validateReferences(ctx, bids); err != nil {
		return nil, err
	}
	if err := st.AddBids(campaigns.Notifying(ctx, store.ChannelBidCreate), in.id(), bids); err != nil {
		return nil, resource.LimitErrorOf(err, "the campaign would have more than 5,000 bids")
	}
	return &bidListOutput{BidList{Bids: bidsOf(&c.Campaign, bids, m.CurrencyExponent)}}, nil
}

// validateReferences checks that everything that bids name exists, and that their content fits it.
func (t *bidRules) validateReferences(ctx context.Context, bids []model.Bid) error {
	n := newReferences(ctx, t.vendor, t.products)
	if err := n.checkExist(ctx, t.format, bids); err != nil {
		return err
	}
	found, err := n.checkContent(t.format, bids, []any{"body", "bids"})
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return resource.Invalid(found...)
	}
	return nil
}

func bidsOf(c *model.Campaign, bids []model.Bid, exponent uint8) []Bid {
	all := make([]Bid, len(bids))
	for i := range bids {
		all[i] = bidOf(c, &bids[i], exponent)
	}
	return all
}

func (s service) listBids(ctx context.Context, in *listBidsInput) (*bidListOutput, error) {
	st := resource.Tenant(ctx)
	c, err := st.Campaign(ctx, in.id())
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	bids, more, err := st.Bids(ctx, in.id(), in.Offset, in.Limit)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := bidsOf(&c.Campaign, bids, st.Settings().CurrencyExponent)
	return &bidListOutput{BidList{all, more, nextOf(more, in.Offset, in.Limit)}}, nil
}

func (s service) patchBid(ctx context.Context, in *patchBidInput) (*bidOutput, error) {
	st := resource.Tenant(ctx)
	m := st.Settings()
	t := bidRules{exponent: m.CurrencyExponent, h3: m.H3}
	f := violations{at: []any{"body"}}
	t.location(&f, in.Body.Location.Value)
	triggers, found := marketTriggers(in.Body.Triggers, in.Body.Trigger, f.at)
	if found = append(f.found, found...); len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	c, err := st.Campaign(ctx, in.id())
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	b, err := st.Bid(ctx, in.id(), resource.ParseUUID(in.BidID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	if c.Status == model.Terminated {
		return nil, resource.CampaignErrorOf(campaigns.ErrTerminated, nil)
	}
	t = bidRulesOf(&c.Campaign, &m)
	p := in.Body.command(&t, b.Target, triggers)
	if p.ChangesNothing() {
		return &bidOutput{bidOf(&c.Campaign, &b, t.exponent)}, nil
	}
	p.Campaign, p.Bid = c.ID, b.ID
	if err := st.PatchBid(campaigns.Notifying(ctx, store.ChannelBidUpdate), p); err != nil {
		return nil, resource.ErrorOf(err)
	}
	if b, err = st.Bid(ctx, in.id(), b.ID); err != nil { // Read again for its new time.
		return nil, resource.ErrorOf(err)
	}
	return &bidOutput{bidOf(&c.Campaign, &b, t.exponent)}, nil
}

// command converts the change to a command. The default triggers follow from members that never change.
func (b *BidPatchBody) command(t *bidRules, target string, triggers []model.Trigger) *command.PatchBid {
	p := &command.PatchBid{Active: b.IsActive}
	if b.Amount != nil {
		p.Amount = new(campaigns.Amount(*b.Amount, t.exponent))
	}
	if b.Location.Set {
		p.Location = &b.Location.Value
	}
	if triggers != nil {
		p.Triggers = new(t.triggers(triggers, target))
	}
	return p
}

func (s service) removeBid(ctx context.Context, in *oneBid) (*struct{}, error) {
	st := resource.Tenant(ctx)
	b, err := st.Bid(ctx, in.id(), resource.ParseUUID(in.BidID))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	ctx = campaigns.Notifying(ctx, store.ChannelBidDelete)
	return nil, resource.ErrorOf(st.PatchBid(ctx, &command.PatchBid{Campaign: in.id(), Bid: b.ID, Delete: true}))
}
