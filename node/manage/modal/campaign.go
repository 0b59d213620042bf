package modal

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

const amountMax = 20_000_000_000 // BOUND: of every amount of the interface, minor units.

// Budget is what a campaign may spend.
type Budget struct {
	Amount int64  `json:"amount" minimum:"1" maximum:"20000000000" doc:"Minor units."`
	Type   string `json:"type,omitempty" enum:"daily,weekly,monthly" doc:"Default daily."`
}

// BudgetPatch changes a budget; an absent member stays.
type BudgetPatch struct {
	Amount *int64 `json:"amount,omitempty" minimum:"1" maximum:"20000000000" doc:"Minor units."`
	Type   string `json:"type,omitempty" enum:"daily,weekly,monthly"`
}

// PromotionType is how the dialog names the ad format.
type PromotionType struct {
	AdFormat string `json:"adFormat,omitempty" enum:"listing" doc:"The dialog promotes products."`
}

// Target is the product of a bid.
type Target struct {
	Type string `json:"type" enum:"product" doc:"The dialog promotes products."`
	ID   string `json:"id" minLength:"1" maxLength:"255"`
}

// Trigger narrows a bid to auctions that name its product.
type Trigger struct {
	Type  string       `json:"type" enum:"product" doc:"Absent: product and category auctions."`
	Value TriggerValue `json:"value"`
}

// TriggerValue names the product of a trigger.
type TriggerValue struct {
	ProductID string `json:"productId" minLength:"1" maxLength:"255"`
}

// Bid is a product to promote.
type Bid struct {
	Target  Target   `json:"target"`
	Amount  *int64   `json:"amount,omitempty" minimum:"1" maximum:"20000000000" doc:"Minor units a click; default: the upper bound of what the marketplace's bids are worth, or the budget if that is less."`
	Trigger *Trigger `json:"trigger,omitempty"`
}

// CampaignBody is a campaign as the dialog sends it. A vendor's page says nothing of its status.
type CampaignBody struct {
	Name          string         `json:"name" minLength:"1" maxLength:"255"`
	Budget        Budget         `json:"budget"`
	StartDate     *resource.Time `json:"startDate,omitempty" doc:"Default now."`
	EndDate       *resource.Time `json:"endDate,omitempty" doc:"After startDate; absent: no end."`
	IsActive      *bool          `json:"isActive,omitempty" doc:"Default true."`
	CampaignType  string         `json:"campaignType,omitempty" enum:"autobidding,manual" doc:"Default autobidding."`
	PromotionType *PromotionType `json:"promotionType,omitempty"`
	CurrencyCode  string         `json:"currencyCode,omitempty" maxLength:"3" doc:"The marketplace's."`
	Bids          []Bid          `json:"bids" minItems:"1" maxItems:"500"`
}

// PatchBody changes the members it has.
type PatchBody struct {
	Name      string         `json:"name,omitempty" minLength:"1" maxLength:"255"`
	Budget    *BudgetPatch   `json:"budget,omitempty"`
	StartDate *resource.Time `json:"startDate,omitempty"`
	EndDate   *resource.Time `json:"endDate,omitempty"`
	IsActive  *bool          `json:"isActive,omitempty"`
}

// Campaign is a campaign as the dialog reads it: members that it takes for texts are never null.
type Campaign struct {
	CampaignID      string        `json:"campaignId" format:"uuid"`
	Name            string        `json:"name"`
	Budget          *Budget       `json:"budget" doc:"null: limited by the wallet, or by a total."`
	StartDate       resource.Time `json:"startDate"`
	EndDate         resource.Time `json:"endDate" doc:"The end of the year 9999 stands for no end."`
	ActiveBidsCount int           `json:"activeBidsCount" doc:"Products that the campaign promotes now."`
	IsActive        bool          `json:"isActive"`
	Status          string        `json:"status" enum:"pending,approved,rejected" doc:"pending waits for the marketplace's review."`
}

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
	periods  = []string{"daily", "weekly", "monthly"} // In the order of the engine's.
	statuses = []string{"pending", "approved", "rejected"}
)

// noEnd is how the dialog is told that a campaign has no end, since it takes the date for a text.
var noEnd = resource.Time(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).UnixMilli())

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
	if found, err := foreign(ctx, bids); err != nil || len(found) > 0 {
		return nil, orInvalid(err, found)
	}
	if err := price(ctx, &c, bids); err != nil {
		return nil, err
	}
	own(ctx, &m, &c)
	if err := st.CreateCampaign(ctx, &c, bids); err != nil {
		return nil, resource.Of(err)
	}
	return answer(ctx, c.ID)
}

// read is the body in the engine's terms; bids without an amount have none yet.
func (b *CampaignBody) read(m *market.Marketplace, nowMillis int64) (c market.Campaign, bids []market.Bid, found []resource.Violation) {
	c = market.Campaign{
		Name: b.Name, Type: "autobidding", Charge: market.CPC, Budget: minor(b.Budget.Amount, m.CurrencyExponent),
		Period: periodOf(b.Budget.Type), StartMillis: nowMillis, Active: b.IsActive == nil || *b.IsActive,
	}
	if b.CampaignType != "" {
		c.Type = b.CampaignType
	}
	if b.StartDate != nil {
		c.StartMillis = int64(*b.StartDate)
	}
	if b.EndDate != nil {
		c.EndMillis = int64(*b.EndDate)
	}
	if c.EndMillis != 0 && c.EndMillis <= c.StartMillis {
		found = append(found, resource.At("value_error", "must be after startDate", "body", "endDate"))
	}
	if b.CurrencyCode != "" && b.CurrencyCode != m.CurrencyCode {
		found = append(found, resource.At("value_error", "must be the marketplace's currency", "body", "currencyCode"))
	}
	bids = make([]market.Bid, len(b.Bids))
	for i := range b.Bids {
		x := &b.Bids[i]
		bids[i] = resource.ListingBid(x.Target.ID)
		if x.Amount != nil {
			bids[i].Amount = minor(*x.Amount, m.CurrencyExponent)
		}
		if x.Trigger == nil {
			continue
		}
		if x.Trigger.Value.ProductID != x.Target.ID {
			found = append(found, resource.At("value_error", "must be the target's id", "body", "bids", i, "trigger", "value", "productId"))
		}
		bids[i].Triggers = bids[i].Triggers[:1] // The one that names the product.
	}
	return c, bids, found
}

// own gives a campaign to the vendor of the token, in the state that the marketplace wants such campaigns to begin in.
func own(ctx context.Context, m *market.Marketplace, c *market.Campaign) {
	caller := resource.CallerOf(ctx)
	c.VendorID, c.StatusUpdatedBy, c.Status = caller.Vendor, "key:"+caller.KeyID, market.Approved
	if m.ReviewCampaigns {
		c.Status = market.Pending
	}
}

// foreign finds bids on what the vendor does not sell.
func foreign(ctx context.Context, bids []market.Bid) (found []resource.Violation, err error) {
	wanted := make([]string, len(bids))
	for i := range bids {
		wanted[i] = bids[i].Target
	}
	products, _, err := storeOf(ctx).Products(ctx, store.Page{Limit: len(wanted)}, wanted, resource.CallerOf(ctx).Vendor)
	if err != nil {
		return nil, resource.Of(err)
	}
	sold := map[string]bool{}
	for i := range products {
		sold[products[i].ID] = true
	}
	for i, id := range wanted {
		if !sold[id] {
			found = append(found, resource.At("resource_not_found", "is no product of the vendor", "body", "bids", i, "target", "id"))
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

// price gives bids without an amount the highest usual one.
func price(ctx context.Context, c *market.Campaign, bids []market.Bid) error {
	if !slices.ContainsFunc(bids, func(b market.Bid) bool { return b.Amount == 0 }) {
		return nil
	}
	r, err := storeOf(ctx).BidRange(ctx)
	if err != nil {
		return resource.Of(err)
	}
	usual := min(minor(r.High, storeOf(ctx).Settings().CurrencyExponent), c.Budget)
	for i := range bids {
		if bids[i].Amount == 0 {
			bids[i].Amount = usual
		}
	}
	return nil
}

// minor converts an amount whose bounds are known to lie in those of money.
func minor(amount int64, exponent uint8) money.Micros {
	m, err := money.FromMinor(amount, exponent)
	if err != nil {
		panic("an amount of the interface lies in the bounds of money: " + err.Error())
	}
	return m
}

func periodOf(word string) market.Period {
	return market.Period(max(0, slices.Index(periods, word))) //nolint:gosec // three words.
}

// find returns a campaign of the token's vendor that is not ended by its deletion.
func find(ctx context.Context, id string) (store.CampaignState, error) {
	c, err := storeOf(ctx).Campaign(ctx, resource.ParseUUID(id))
	if err == nil && (c.VendorID != resource.CallerOf(ctx).Vendor || c.Status == market.Terminated) {
		err = store.ErrNotFound
	}
	return c, resource.Of(err)
}

func get(ctx context.Context, in *oneCampaign) (*output, error) {
	c, err := find(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	return answer(ctx, c.ID)
}

func patch(ctx context.Context, in *patchInput) (*output, error) {
	c, err := find(ctx, in.CampaignID)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	p := command.PatchCampaign{Campaign: c.ID, StartMillis: (*int64)(b.StartDate), EndMillis: (*int64)(b.EndDate), Active: b.IsActive}
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
		p.Budget = new(minor(*b.Budget.Amount, storeOf(ctx).Settings().CurrencyExponent))
	}
	if b.Budget != nil && b.Budget.Type != "" {
		p.Period = new(periodOf(b.Budget.Type))
	}
	if err := storeOf(ctx).PatchCampaign(ctx, &p); err != nil {
		return nil, resource.Of(err)
	}
	return answer(ctx, c.ID)
}

// Null is the answer of operations that answer null: the dialog reads every answer as JSON.
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
	return &nullOutput{}, resource.Of(err)
}

// answer reads a campaign as the dialog is answered.
func answer(ctx context.Context, id ids.UUID) (*output, error) {
	c, err := storeOf(ctx).Campaign(ctx, id)
	if err != nil {
		return nil, resource.Of(err)
	}
	bids, _, err := storeOf(ctx).Bids(ctx, id, 0, math.MaxInt32) // At most 5,000, the bound of a campaign.
	if err != nil {
		return nil, resource.Of(err)
	}
	a := campaignOf(&c, storeOf(ctx).Settings().CurrencyExponent)
	for i := range bids {
		if bids[i].Active {
			a.ActiveBidsCount++
		}
	}
	return &output{a}, nil
}

func campaignOf(c *store.CampaignState, exponent uint8) Campaign {
	a := Campaign{
		CampaignID: c.ID.String(), Name: c.Name, StartDate: resource.Time(c.StartMillis), EndDate: noEnd,
		ActiveBidsCount: 0, IsActive: c.Active, Status: statuses[c.Status],
	}
	if c.EndMillis != 0 {
		a.EndDate = resource.Time(c.EndMillis)
	}
	if c.Budget != 0 && int(c.Period) < len(periods) {
		a.Budget = &Budget{money.Minor(c.Budget, exponent), periods[c.Period]}
	}
	return a
}
