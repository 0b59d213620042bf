package campaign

import (
	"context"
	"reflect"
	"slices"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

type (
	patchInput struct {
		OneCampaign
		Body PatchBody
	}
	listInput struct {
		IDs      []string             `query:"ids,explode" maxItems:"100" format:"uuid" doc:"Only these campaigns, terminated ones included; repeat the parameter. Unknown ones are left out."`
		VendorID string               `query:"vendor_id" minLength:"1" maxLength:"255"`
		Status   string               `query:"status" enum:"pending,approved,rejected,terminated" doc:"Terminated campaigns are listed only with status=terminated."`
		AdFormat string               `query:"ad_format" enum:"listing,banner,sponsored_brand"`
		IsActive resource.Param[bool] `query:"is_active"`
		Offset   int                  `query:"offset" minimum:"0" maximum:"1000000" default:"0"`
		Limit    int                  `query:"limit" minimum:"1" maximum:"100" default:"50"`
	}
	listOutput struct{ Body List }
)

// List is one page of campaigns.
type List struct {
	Campaigns []Campaign `json:"campaigns"`
	HasMore   bool       `json:"hasMore"`
	Next      *Next      `json:"next"`
}

func (s service) get(ctx context.Context, in *OneCampaign) (*campaignOutput, error) {
	return s.answer(ctx, in.id())
}

func (s service) list(ctx context.Context, in *listInput) (*listOutput, error) {
	st := resource.Tenant(ctx)
	f := store.CampaignFilter{VendorID: in.VendorID, Offset: in.Offset, Limit: in.Limit}
	for _, id := range in.IDs {
		f.IDs = append(f.IDs, resource.ParseUUID(id))
	}
	if in.VendorID != "" {
		if _, err := st.Vendor(ctx, in.VendorID); err != nil {
			return nil, resource.VendorErrorOf(err)
		}
	}
	if in.Status != "" {
		f.Status = new(statusOf(in.Status))
	}
	if in.AdFormat != "" {
		f.Format = new(campaigns.Number[model.AdFormat](campaigns.Formats, in.AdFormat))
	}
	if in.IsActive.Given {
		f.Active = &in.IsActive.Value
	}
	states, more, err := st.Campaigns(ctx, f)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	m := st.Settings()
	all := make([]Campaign, len(states))
	for i := range states {
		all[i] = campaignOf(&states[i], &m)
	}
	return &listOutput{List{all, more, nextOf(more, in.Offset, in.Limit)}}, nil
}

// patch changes a campaign.
func (s service) patch(ctx context.Context, in *patchInput) (*campaignOutput, error) {
	st, b := resource.Tenant(ctx), &in.Body
	found := append(unlimited(b.Unlimited, b.Budget.Set, b.Budget.Null), b.filters().validateCrossField()...)
	c := b.changes(st.Settings().CurrencyExponent)
	c.By, c.Malformed, c.Complete = updatedBy(ctx), len(found) > 0, b.complete
	if err := campaigns.Patch(ctx, st, in.id(), c); err != nil {
		return nil, resource.CampaignErrorOf(err, places, found...)
	}
	return s.answer(ctx, in.id())
}

// complete checks what a change names, and adds what follows from the campaign's document.
func (b *PatchBody) complete(ctx context.Context, now *store.CampaignState, p *command.PatchCampaign) error {
	if b.WalletID != "" {
		wallet, err := walletOf(ctx, now.VendorID, b.WalletID)
		if err != nil {
			return err
		}
		if wallet != now.Wallet {
			p.Wallet = &wallet
		}
	}
	if err := b.filters().exist(ctx); err != nil {
		return err
	}
	// Empty text is as good as no member. The present id is not sent again, because a cluster with older nodes could not change it.
	if id := &b.ExternalCampaignID; (id.Null || id.Value != "") && id.Value != now.ExternalID {
		p.ExternalID = &id.Value
	}
	// The same holds for the present holdout.
	if b.HoldoutPercent != nil && *b.HoldoutPercent != now.HoldoutPercent {
		p.HoldoutPercent = b.HoldoutPercent
	}
	d := decodeDocument(now.Document)
	b.AutobiddingObjective.Apply(&d.AutobiddingObjective)
	if err := hasGoal(now, p, d.AutobiddingObjective, b.TargetROAS.Null); err != nil {
		return err
	}
	b.patchDocument(now, &d, p)
	return nil
}

// unlimited checks that a change removes a budget on purpose: with null and with unlimited. A null alone changes nothing, because
// clients send it for what they do not set.
func unlimited(wanted *bool, budgetSent, budgetNull bool) (found []resource.Violation) {
	if isTrue(wanted, false) && !(budgetSent && budgetNull) {
		found = append(found, resource.At("value_error", "needs budget null beside it", "body", "unlimited"))
	}
	return found
}

// hasGoal checks that an autobidding campaign has a target or an objective after a change that may have removed one of them.
func hasGoal(now *store.CampaignState, p *command.PatchCampaign, objective string, noROAS bool) error {
	had := now.TargetROASMilli != 0 || decodeDocument(now.Document).AutobiddingObjective != ""
	target := now.TargetROASMilli
	if p.TargetROASMilli != nil {
		target = *p.TargetROASMilli
	}
	if now.Type != "autobidding" || !had || target != 0 || objective != "" {
		return nil
	}
	member := "autobiddingObjective"
	if noROAS {
		member = "targetRoas"
	}
	return resource.Invalid(resource.At("missing", "autobidding needs targetRoas or autobiddingObjective", "body", member))
}

// changes are the members of a change in the service's terms.
func (b *PatchBody) changes(exponent uint8) *campaigns.Changes {
	p := command.PatchCampaign{Name: b.Name, Active: b.IsActive, StartMillis: (*int64)(b.StartDate), EndMillis: (*int64)(b.EndDate.Pointer())}
	if budget := &b.Budget.Value; budget.Amount != nil {
		p.Budget = new(campaigns.Amount(*budget.Amount, exponent))
	}
	if budget := &b.Budget.Value; budget.Type != nil {
		p.Period = new(campaigns.Number[model.Period](campaigns.Periods, *budget.Type))
	}
	if b.Budget.Null && isTrue(b.Unlimited, false) {
		p.Budget = new(money.Micros(0))
	}
	if b.Pacing != nil {
		p.Pacing = pacingOf(*b.Pacing)
	}
	if b.Status != nil {
		p.Status = new(statusOf(*b.Status))
	}
	if b.PriceRule != nil {
		p.Price = new(campaigns.Number[model.PriceRule](priceWords, *b.PriceRule))
	}
	return &campaigns.Changes{Members: p, TargetROAS: b.TargetROAS.Pointer().String(), NoEnd: b.EndDate.Null, NoROAS: b.TargetROAS.Null}
}

// patchDocument adds the change of the campaign's document, and of what the engine has of it. d is the document with the new
// objective.
func (b *PatchBody) patchDocument(c *store.CampaignState, d *document, p *command.PatchCampaign) {
	if !b.AutobiddingObjective.Set && !b.MultiplierConfig.Set && !b.TargetingFilters.Set && !b.ExclusionFilters.Set && !b.Schedule.Set {
		return
	}
	setIfPresent(&d.MultiplierConfig, &b.MultiplierConfig)
	setIfPresent(&d.TargetingFilters, &b.TargetingFilters)
	setIfPresent(&d.ExclusionFilters, &b.ExclusionFilters)
	setIfPresent(&d.Schedule, &b.Schedule)
	p.Document = d.encode()
	// Values that the engine has already are not sent again, because a cluster with older nodes might not know them.
	if s := d.segmentRules(); !reflect.DeepEqual(s, c.Segments) {
		p.Segments = &s
	}
	if hours := d.hours(); !slices.Equal(hours, c.Schedule) {
		p.Schedule = &hours
	}
}

func setIfPresent[T any](to **T, from *resource.Optional[T]) {
	if from.Set {
		*to = from.Pointer()
	}
}

// remove terminates a campaign.
func (s service) remove(ctx context.Context, in *OneCampaign) (*struct{}, error) {
	return nil, resource.CampaignErrorOf(campaigns.Delete(ctx, resource.Tenant(ctx), in.id(), updatedBy(ctx), nil), nil)
}

type (
	productsInput struct {
		OneCampaign
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	productsOutput struct{ Body Products }
)

// Products is one page of the products that a campaign promotes.
type Products struct {
	ProductIDs []string `json:"productIds"`
	resource.Page
}

// products lists the products of a campaign by id: those it bids on and those it names.
func (s service) products(ctx context.Context, in *productsInput) (*productsOutput, error) {
	st := resource.Tenant(ctx)
	c, err := st.Campaign(ctx, in.id())
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	bids, _, err := st.Bids(ctx, in.id(), 0, bidsOfCampaignMax)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := decodeDocument(c.Document).ProductIDs
	for i := range bids {
		if bids[i].TargetType == model.TargetProduct {
			all = append(all, bids[i].Target)
		}
		if bids[i].Creative != nil {
			all = append(all, bids[i].Creative.Products...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listCampaignProducts", in.CampaignID)
	page, end, err := resource.List(cursors, in.NextPage, in.Limit, func(id string) string { return id }, resource.Sorted(all, func(id string) string { return id }))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &productsOutput{Products{page, end}}, nil
}
