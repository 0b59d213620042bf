package campaign

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
)

type (
	patchInput struct {
		OneCampaign
		Body PatchBody
	}
	listInput struct {
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
	st := storeOf(ctx)
	f := store.CampaignFilter{VendorID: in.VendorID, Offset: in.Offset, Limit: in.Limit}
	if in.VendorID != "" {
		if _, err := st.Vendor(ctx, in.VendorID); err != nil {
			return nil, resource.VendorErrorOf(err)
		}
	}
	if in.Status != "" {
		f.Status = new(statusOf(in.Status))
	}
	if in.AdFormat != "" {
		f.Format = new(numberOf[market.AdFormat](formatWords, in.AdFormat))
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

// patch changes a campaign. A change is checked against the campaign as it is when the change is applied. Of two changes at the same
// moment, on whatever nodes, both take effect, member by member; of the same member the later.
func (s service) patch(ctx context.Context, in *patchInput) (*campaignOutput, error) {
	err := storeOf(ctx).ChangeCampaign(ctx, in.id(), func(now *store.CampaignState) (*command.PatchCampaign, error) {
		return in.Body.check(ctx, now)
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return s.answer(ctx, in.id())
}

// check checks a change against the campaign and converts it to a command.
func (b *PatchBody) check(ctx context.Context, now *store.CampaignState) (*command.PatchCampaign, error) {
	if found := b.validateCrossField(now); len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	if err := b.validateState(ctx, now); err != nil {
		return nil, err
	}
	found, err := b.filters().unknownSegments(ctx)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	p := b.command(now, storeOf(ctx).Settings().CurrencyExponent)
	if p.Status != nil {
		p.StatusUpdatedBy = new(updatedBy(ctx))
	}
	return p, nil
}

// validateCrossField checks the rules that concern more than one member, with the campaign's values for members that stay.
func (b *PatchBody) validateCrossField(c *store.CampaignState) (found []resource.Violation) {
	start, end := c.StartMillis, c.EndMillis
	if b.StartDate != nil {
		start = int64(*b.StartDate)
	}
	if b.EndDate != nil {
		end = int64(*b.EndDate)
	}
	if end != 0 && end <= start {
		member := "endDate"
		if b.EndDate == nil {
			member = "startDate"
		}
		found = append(found, resource.At("value_error", "endDate must be after startDate", "body", member))
	}
	if b.Budget != nil {
		if b.Budget.Amount == nil && c.Budget == 0 {
			found = append(found, resource.At("missing", "required, the campaign has no budget yet", "body", "budget", "amount"))
		}
		if c.Charge == market.CPA && b.Budget.Type != nil && *b.Budget.Type != "total" {
			found = append(found, resource.At("value_error", "CPA needs a budget of type total", "body", "budget", "type"))
		}
	}
	if v, ok := roas(b.TargetROAS); !ok {
		found = append(found, v)
	}
	return append(found, b.filters().validateCrossField()...)
}

// validateState checks that the campaign's state allows the change, and that its vendor and wallet exist.
func (b *PatchBody) validateState(ctx context.Context, c *store.CampaignState) error {
	if c.Status == market.Terminated {
		return resource.Refuse(apierr.InvalidOperation, "the campaign is terminated")
	}
	if b.Status != nil && statusOf(*b.Status) == market.Pending && c.Status != market.Pending {
		return resource.Refuse(apierr.InvalidOperation, "a reviewed campaign cannot become pending again")
	}
	if isTrue(b.IsActive, false) {
		if _, err := storeOf(ctx).Vendor(ctx, c.VendorID); errors.Is(err, store.ErrNotFound) {
			return resource.Refuse(apierr.InvalidOperation, "the vendor was deleted, so its campaigns cannot be activated")
		}
	}
	if b.WalletID == "" {
		return nil
	}
	_, err := walletOf(ctx, c.VendorID, b.WalletID)
	return err
}

// command converts the change to a command. REQUIRES: it was checked.
func (b *PatchBody) command(c *store.CampaignState, exponent uint8) *command.PatchCampaign {
	p := &command.PatchCampaign{
		Campaign: c.ID, Name: b.Name, Active: b.IsActive,
		StartMillis: (*int64)(b.StartDate), EndMillis: (*int64)(b.EndDate),
	}
	if b.WalletID != "" && resource.ParseUUID(b.WalletID) != c.Wallet {
		p.Wallet = new(resource.ParseUUID(b.WalletID))
	}
	if b.Budget != nil && b.Budget.Amount != nil {
		p.Budget = new(minor(*b.Budget.Amount, exponent))
	}
	if b.Budget != nil && b.Budget.Type != nil {
		p.Period = new(numberOf[market.Period](periodWords, *b.Budget.Type))
	}
	if b.TargetROAS != nil {
		p.TargetROASMilli = new(milliOf(*b.TargetROAS))
	}
	if b.Status != nil {
		p.Status = new(statusOf(*b.Status))
	}
	if b.PriceRule != nil {
		p.Price = new(numberOf[market.PriceRule](priceWords, *b.PriceRule))
	}
	if b.filters() == (filters{}) {
		return p
	}
	d := decodeDocument(c.Document)
	setIfPresent(&d.MultiplierConfig, b.MultiplierConfig)
	setIfPresent(&d.TargetingFilters, b.TargetingFilters)
	setIfPresent(&d.ExclusionFilters, b.ExclusionFilters)
	setIfPresent(&d.Schedule, b.Schedule)
	p.Document = d.encode()
	// Values that the engine has already are not sent again, because a cluster with older nodes might not know them.
	if s := d.segmentRules(); !reflect.DeepEqual(s, c.Segments) {
		p.Segments = &s
	}
	if hours := d.hours(); !slices.Equal(hours, c.Schedule) {
		p.Schedule = &hours
	}
	return p
}

func setIfPresent[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

// remove terminates a campaign. Repeating it succeeds, because the result is the same.
func (s service) remove(ctx context.Context, in *OneCampaign) (*struct{}, error) {
	err := storeOf(ctx).PatchCampaign(ctx, &command.PatchCampaign{
		Campaign: in.id(), Marketplace: resource.CallerOf(ctx).Marketplace,
		Status: new(market.Terminated), StatusUpdatedBy: new(updatedBy(ctx)),
	})
	if errors.Is(err, store.ErrWrongState) {
		return nil, nil
	}
	return nil, resource.ErrorOf(err)
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
	st := storeOf(ctx)
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
		if bids[i].TargetType == market.TargetProduct {
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
