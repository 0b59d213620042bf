package modal

import (
	"context"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

type (
	createInput struct {
		OneVendor
		Body CampaignBody
	}
	oneCampaign struct {
		OneVendor
		CampaignID string `path:"campaign_id" format:"uuid"`
	}
	patchInput struct {
		OneVendor
		CampaignID string `path:"campaign_id" format:"uuid"`
		Body       PatchBody
	}
	output struct{ Body Campaign }
)

var (
	periods  = []string{"daily", "weekly", "monthly"} // The index of a word is the value of the engine's constant.
	statuses = []string{"pending", "approved", "rejected"}
)

func (s service) create(ctx context.Context, in *createInput) (*output, error) {
	st, b := storeOf(ctx), &in.Body
	m := st.Settings()
	c, bids, found := b.read(&m, s.now().UnixMilli())
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	if _, err := vendorOf(ctx); err != nil {
		return nil, err
	}
	if found, err := notSold(ctx, bids); err != nil || len(found) > 0 {
		return nil, orInvalid(err, found)
	}
	if err := fillAmounts(ctx, &c, bids); err != nil {
		return nil, err
	}
	assignVendor(ctx, &m, &c)
	if err := st.CreateCampaign(ctx, &c, bids); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return answer(ctx, c.ID)
}

// assignVendor makes the vendor of the token the owner of a campaign, and sets the initial status that the marketplace wants.
func assignVendor(ctx context.Context, m *market.Marketplace, c *market.Campaign) {
	caller := resource.CallerOf(ctx)
	c.VendorID, c.StatusUpdatedBy, c.Status = caller.Vendor, "key:"+caller.KeyID, market.Approved
	if m.ReviewCampaigns {
		c.Status = market.Pending
	}
}

// notSold returns a violation for each bid on a product that the vendor does not sell.
func notSold(ctx context.Context, bids []market.Bid) (found []resource.Violation, err error) {
	wanted := make([]string, len(bids))
	for i := range bids {
		wanted[i] = bids[i].Target
	}
	products, _, err := storeOf(ctx).Products(ctx, store.Page{Limit: len(wanted)}, wanted, resource.CallerOf(ctx).Vendor)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	sold := map[string]bool{}
	for i := range products {
		sold[products[i].ID] = true
	}
	for i, id := range wanted {
		if !sold[id] {
			found = append(found, resource.At("resource_not_found", "is not a product of the vendor", "body", "bids", i, "target", "id"))
		}
	}
	return found, nil
}

func orInvalid(err error, found []resource.Violation) error {
	if err != nil {
		return err
	}
	return resource.Invalid(found...)
}

// fillAmounts gives bids without an amount the upper bound of most bids, but at most the budget.
func fillAmounts(ctx context.Context, c *market.Campaign, bids []market.Bid) error {
	if !slices.ContainsFunc(bids, func(b market.Bid) bool { return b.Amount == 0 }) {
		return nil
	}
	r, err := storeOf(ctx).BidRange(ctx)
	if err != nil {
		return resource.ErrorOf(err)
	}
	usual := min(minor(r.High, storeOf(ctx).Settings().CurrencyExponent), c.Budget)
	for i := range bids {
		if bids[i].Amount == 0 {
			bids[i].Amount = usual
		}
	}
	return nil
}

// find returns a campaign of the token's vendor that is not deleted.
func find(ctx context.Context, id string) (store.CampaignState, error) {
	c, err := storeOf(ctx).Campaign(ctx, resource.ParseUUID(id))
	if err == nil {
		err = isOwn(ctx, &c)
	}
	return c, resource.ErrorOf(err)
}

// isOwn returns ErrNotFound for a campaign that is deleted or belongs to another vendor than the token's.
func isOwn(ctx context.Context, c *store.CampaignState) error {
	if c.VendorID != resource.CallerOf(ctx).Vendor || c.Status == market.Terminated {
		return store.ErrNotFound
	}
	return nil
}

func get(ctx context.Context, in *oneCampaign) (*output, error) {
	c, err := find(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	return answer(ctx, c.ID)
}

func patch(ctx context.Context, in *patchInput) (*output, error) {
	st, id := storeOf(ctx), resource.ParseUUID(in.CampaignID)
	err := st.ChangeCampaign(ctx, id, func(now *store.CampaignState) (*command.PatchCampaign, error) {
		if err := isOwn(ctx, now); err != nil {
			return nil, err
		}
		return in.Body.command(now, st.Settings().CurrencyExponent)
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return answer(ctx, id)
}

// command converts the change to a command.
func (b *PatchBody) command(c *store.CampaignState, exponent uint8) (*command.PatchCampaign, error) {
	p := &command.PatchCampaign{Campaign: c.ID, StartMillis: (*int64)(b.StartDate), EndMillis: (*int64)(b.EndDate), Active: b.IsActive}
	start, end := c.StartMillis, c.EndMillis
	if b.StartDate != nil {
		start = int64(*b.StartDate)
	}
	if b.EndDate != nil {
		end = int64(*b.EndDate)
	}
	if end != 0 && end <= start {
		return nil, resource.Invalid(resource.At("value_error", "must be after startDate", "body", "endDate"))
	}
	if b.Name != "" {
		p.Name = &b.Name
	}
	if b.Budget != nil && b.Budget.Amount != nil {
		p.Budget = new(minor(*b.Budget.Amount, exponent))
	}
	if b.Budget != nil && b.Budget.Type != "" {
		p.Period = new(periodOf(b.Budget.Type))
	}
	return p, nil
}

// Null is the answer of operations that answer null, because the dialog reads every answer as JSON.
type Null struct{}

type nullOutput struct{ Body Null }

func remove(ctx context.Context, in *oneCampaign) (*nullOutput, error) {
	c, err := find(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	err = storeOf(ctx).PatchCampaign(ctx, &command.PatchCampaign{
		Campaign: c.ID, Status: new(market.Terminated), StatusUpdatedBy: new("key:" + resource.CallerOf(ctx).KeyID),
	})
	return &nullOutput{}, resource.ErrorOf(err)
}

// answer reads a campaign and converts it to the dialog's answer.
func answer(ctx context.Context, id ids.UUID) (*output, error) {
	c, err := storeOf(ctx).Campaign(ctx, id)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	bids, _, err := storeOf(ctx).Bids(ctx, id, 0, math.MaxInt32) // There are at most 5,000, the bound of a campaign.
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	a := campaignOf(&c, storeOf(ctx).Settings().CurrencyExponent)
	for i := range bids {
		if bids[i].Active {
			a.ActiveBidsCount++
		}
	}
	return &output{a}, nil
}
