package campaign

import (
	"context"
	"math"

	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

type (
	dialogCreateInput struct {
		OneVendor
		Body DialogCampaignBody
	}
	oneDialogCampaign struct {
		OneVendor
		CampaignID string `path:"campaign_id" format:"uuid"`
	}
	dialogPatchInput struct {
		OneVendor
		CampaignID string `path:"campaign_id" format:"uuid"`
		Body       DialogPatchBody
	}
	dialogOutput struct{ Body DialogCampaign }
)

// dialogPlaces are where the members that rules name lie in a body.
var dialogPlaces = resource.Places{
	campaigns.BudgetAmount: {"budget", "amount"}, campaigns.BudgetPeriod: {"budget", "type"},
	campaigns.StartDate: {"endDate"}, campaigns.EndDate: {"endDate"},
}

func (s dialogService) create(ctx context.Context, in *dialogCreateInput) (*dialogOutput, error) {
	st := resource.Tenant(ctx)
	m := st.Settings()
	d, found := in.Body.draft(&m, s.now().UnixMilli())
	assignVendor(ctx, &m, &d.Campaign)
	d.Complete = func(ctx context.Context, _ *model.Vendor) error {
		if err := sold(ctx, d.Bids); err != nil {
			return err
		}
		return d.Price(ctx, st)
	}
	if err := campaigns.Create(ctx, st, &d); err != nil {
		return nil, resource.CampaignErrorOf(err, dialogPlaces, found...)
	}
	return dialogAnswer(ctx, d.Campaign.ID)
}

// assignVendor makes the vendor of the token the owner of a campaign, and sets the initial status that the marketplace wants.
func assignVendor(ctx context.Context, m *model.Marketplace, c *model.Campaign) {
	c.VendorID, c.StatusUpdatedBy, c.Status = resource.CallerOf(ctx).Vendor, updatedBy(ctx), model.Approved
	if m.ReviewCampaigns {
		c.Status = model.Pending
	}
}

// sold refuses bids on what the vendor does not sell.
func sold(ctx context.Context, bids []model.Bid) error {
	wanted := make([]string, len(bids))
	for i := range bids {
		wanted[i] = bids[i].Target
	}
	products, _, err := resource.Tenant(ctx).Products(ctx, store.Page{Limit: len(wanted)}, wanted, resource.CallerOf(ctx).Vendor)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for i := range products {
		has[products[i].ID] = true
	}
	var found []resource.Violation
	for i, id := range wanted {
		if !has[id] {
			found = append(found, resource.At("resource_not_found", "is not a product of the vendor", "body", "bids", i, "target", "id"))
		}
	}
	if len(found) > 0 {
		return resource.Invalid(found...)
	}
	return nil
}

// findDialogCampaign returns a campaign of the token's vendor that is not deleted.
func findDialogCampaign(ctx context.Context, id string) (store.CampaignState, error) {
	c, err := resource.Tenant(ctx).Campaign(ctx, resource.ParseUUID(id))
	if err == nil {
		err = isOwn(ctx)(&c)
	}
	return c, resource.ErrorOf(err)
}

// isOwn refuses campaigns that are not the token's vendor's, or are deleted: for the vendor there is none.
func isOwn(ctx context.Context) func(*store.CampaignState) error {
	return func(c *store.CampaignState) error {
		if c.VendorID != resource.CallerOf(ctx).Vendor || c.Status == model.Terminated {
			return store.ErrNotFound
		}
		return nil
	}
}

func getDialogCampaign(ctx context.Context, in *oneDialogCampaign) (*dialogOutput, error) {
	c, err := findDialogCampaign(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	return dialogAnswer(ctx, c.ID)
}

func patchDialogCampaign(ctx context.Context, in *dialogPatchInput) (*dialogOutput, error) {
	st, id := resource.Tenant(ctx), resource.ParseUUID(in.CampaignID)
	c := in.Body.changes(st.Settings().CurrencyExponent)
	c.Sees = isOwn(ctx)
	if err := campaigns.Patch(ctx, st, id, c); err != nil {
		return nil, resource.CampaignErrorOf(err, dialogPlaces)
	}
	return dialogAnswer(ctx, id)
}

// changes are the members of a change in the service's terms.
func (b *DialogPatchBody) changes(exponent uint8) *campaigns.Changes {
	p := command.PatchCampaign{StartMillis: (*int64)(b.StartDate), EndMillis: (*int64)(b.EndDate.Pointer()), Active: b.IsActive}
	if b.Name != "" {
		p.Name = &b.Name
	}
	if b.Budget != nil && b.Budget.Amount != nil {
		p.Budget = new(campaigns.Amount(*b.Budget.Amount, exponent))
	}
	if b.Budget != nil && b.Budget.Type != "" {
		p.Period = new(periodOf(b.Budget.Type))
	}
	return &campaigns.Changes{Members: p, NoEnd: b.EndDate.Null}
}

// Null is the answer of operations that answer null, because the dialog reads every answer as JSON.
type Null struct{}

type nullOutput struct{ Body Null }

func removeDialogCampaign(ctx context.Context, in *oneDialogCampaign) (*nullOutput, error) {
	err := campaigns.Delete(ctx, resource.Tenant(ctx), resource.ParseUUID(in.CampaignID), updatedBy(ctx), isOwn(ctx))
	return &nullOutput{}, resource.ErrorOf(err)
}

// dialogAnswer reads a campaign and converts it to the dialog's answer.
func dialogAnswer(ctx context.Context, id ids.UUID) (*dialogOutput, error) {
	c, err := resource.Tenant(ctx).Campaign(ctx, id)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	bids, _, err := resource.Tenant(ctx).Bids(ctx, id, 0, math.MaxInt32) // There are at most 5,000, the bound of a campaign.
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	a := dialogCampaignOf(&c, resource.Tenant(ctx).Settings().CurrencyExponent)
	for i := range bids {
		if bids[i].Active {
			a.ActiveBidsCount++
		}
	}
	return &dialogOutput{a}, nil
}
