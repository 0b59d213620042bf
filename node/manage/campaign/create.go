package campaign

import (
	"context"
	"errors"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

type (
	createInput struct {
		VendorID string `query:"vendor_id" required:"true" minLength:"1" maxLength:"255" doc:"The vendor of the campaign."`
		Body     Body
	}
	campaignOutput struct{ Body Campaign }
)

// places are where the members that rules name lie in a body.
var places = resource.Places{
	campaigns.ChargeType: {"chargeType"}, campaigns.BudgetAmount: {"budget", "amount"}, campaigns.BudgetPeriod: {"budget", "type"},
	campaigns.StartDate: {"startDate"}, campaigns.EndDate: {"endDate"}, campaigns.TargetROAS: {"targetRoas"},
	campaigns.Pacing: {"pacing"}, campaigns.Price: {"priceRule"},
}

// create stores a campaign. The order of checks is the interface's: members, then the resources they name.
func (s service) create(ctx context.Context, in *createInput) (*campaignOutput, error) {
	st := resource.Tenant(ctx)
	b := &in.Body
	m := st.Settings()
	d := b.draft(s.now().UnixMilli(), m.CurrencyExponent)
	d.Campaign.VendorID, d.Campaign.StatusUpdatedBy = in.VendorID, updatedBy(ctx)
	t := bidRulesOf(&d.Campaign, &m)
	bids, found := t.read(b.Bids, "body", "bids")
	found = append(b.validateCrossField(), found...)
	d.Bids, d.Malformed = bids, len(found) > 0
	d.Complete = func(ctx context.Context, _ *model.Vendor) (err error) {
		if d.Campaign.Wallet, err = walletOf(ctx, in.VendorID, b.WalletID); err != nil {
			return err
		}
		if err = b.filters().exist(ctx); err != nil {
			return err
		}
		return t.validateReferences(ctx, bids)
	}
	if err := campaigns.Create(ctx, st, &d); err != nil {
		return nil, resource.CampaignErrorOf(err, places, found...)
	}
	return s.answer(ctx, d.Campaign.ID)
}

// validateCrossField checks the rules that concern more than one member and that only these bodies can break.
func (b *Body) validateCrossField() (found []resource.Violation) {
	if p := b.PromotionType; p != nil && p.AdFormat != "" && b.AdFormat != "" && p.AdFormat != b.AdFormat {
		found = append(found, resource.At("value_error", "must be equal to adFormat, because it is an alias", "body", "promotionType", "adFormat"))
	}
	if b.CampaignType == model.Autobidding && b.TargetROAS == nil && b.AutobiddingObjective == "" {
		found = append(found, resource.At("missing", "autobidding needs targetRoas or autobiddingObjective", "body", "targetRoas"))
	}
	if b.CampaignType == model.Exclusive && b.PriceRule == "second" {
		found = append(found, resource.At("value_error", "an exclusive campaign pays its own bid: must be first", "body", "priceRule"))
	}
	return append(found, b.filters().validateCrossField()...)
}

// format is the ad format, from adFormat or its alias.
func (b *Body) format() model.AdFormat {
	word := b.AdFormat
	if word == "" && b.PromotionType != nil {
		word = b.PromotionType.AdFormat
	}
	return campaigns.Number[model.AdFormat](campaigns.Formats, word)
}

func startOf(b *Body, nowMillis int64) int64 {
	if b.StartDate == nil {
		return nowMillis
	}
	return int64(*b.StartDate)
}

// draft is the body in the service's terms, without its bids.
func (b *Body) draft(nowMillis int64, exponent uint8) campaigns.Draft {
	c := model.Campaign{
		Name: b.Name, Type: b.CampaignType,
		Format:      b.format(),
		Charge:      model.CPC,
		Price:       campaigns.Number[model.PriceRule](priceWords, b.PriceRule),
		StartMillis: startOf(b, nowMillis),
		Active:      isTrue(b.IsActive, true),
		AutoTrigger: isTrue(b.IsAutoTrigger, false),
		Status:      model.Approved,
		ExternalID:  b.ExternalCampaignID,

		HoldoutPercent: b.HoldoutPercent,
	}
	if c.Format != model.Listing {
		c.Charge, c.Products = model.CPM, b.ProductIDs
	}
	if b.ChargeType != "" {
		c.Charge = campaigns.Number[model.ChargeType](campaigns.Charges, b.ChargeType)
	}
	if b.Status != "" {
		c.Status = statusOf(b.Status)
	}
	if b.Budget != nil {
		c.Budget = campaigns.Amount(b.Budget.Amount, exponent)
		c.Period = campaigns.Number[model.Period](campaigns.Periods, b.Budget.Type)
	}
	d := document{
		AutobiddingObjective: b.AutobiddingObjective, ProductIDs: b.ProductIDs, MultiplierConfig: b.MultiplierConfig,
		TargetingFilters: b.TargetingFilters, ExclusionFilters: b.ExclusionFilters, Schedule: b.Schedule,
	}
	c.Document, c.Segments, c.Schedule = d.encode(), d.segmentRules(), d.hours()
	return campaigns.Draft{Campaign: c, End: (*int64)(b.EndDate), TargetROAS: b.TargetROAS.String(), Pacing: pacingOf(b.Pacing)}
}

// pacingOf returns the pacing that a word asks for, nil for none.
func pacingOf(word string) *model.Pacing {
	if word == "" {
		return nil
	}
	return new(campaigns.Number[model.Pacing](campaigns.Pacings, word))
}

// walletOf returns the id of the wallet that pays for a campaign of the vendor.
func walletOf(ctx context.Context, vendorID, walletID string) (ids.UUID, error) {
	wallets, err := resource.Tenant(ctx).Wallets(ctx, vendorID)
	if err != nil {
		return ids.UUID{}, resource.VendorErrorOf(err)
	}
	for i := range wallets {
		w := &wallets[i]
		if walletID == "" && w.Default || walletID != "" && w.ID == resource.ParseUUID(walletID) {
			return w.ID, nil
		}
	}
	if walletID == "" {
		return ids.UUID{}, resource.ErrorOf(errors.New("vendor without a default wallet"))
	}
	return ids.UUID{}, resource.Refuse(apierr.ResourceNotFound, "walletId is not a wallet of the vendor")
}

// updatedBy names the key or the user of the console that set the status.
func updatedBy(ctx context.Context) string { return resource.CallerOf(ctx).Name() }

func isTrue(b *bool, absent bool) bool {
	if b == nil {
		return absent
	}
	return *b
}

// answer reads a campaign and converts it to its answer.
func (s service) answer(ctx context.Context, id ids.UUID) (*campaignOutput, error) {
	state, err := resource.Tenant(ctx).Campaign(ctx, id)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	m := resource.Tenant(ctx).Settings()
	return &campaignOutput{campaignOf(&state, &m)}, nil
}

func campaignOf(c *store.CampaignState, m *model.Marketplace) Campaign {
	d := decodeDocument(c.Document)
	a := Campaign{
		CampaignID: c.ID.String(), MarketplaceID: m.ID.String(), VendorID: c.VendorID, ExternalVendorID: c.VendorID,
		ExternalCampaignID: textOf(c.ExternalID), Name: c.Name, CampaignType: c.Type,
		AdFormat: campaigns.Formats[c.Format], ChargeType: campaigns.Charges[c.Charge], PriceRule: priceWords[c.Price],
		Budget: budgetOf(c, m.CurrencyExponent), WalletID: c.Wallet.String(),
		StartDate: resource.Time(c.StartMillis), EndDate: resource.TimeOf(c.EndMillis),
		IsActive: c.Active, IsAutoTrigger: c.AutoTrigger,
		Status: campaigns.Statuses[c.Status], StatusUpdatedBy: textOf(c.StatusUpdatedBy),
		AutobiddingObjective: textOf(d.AutobiddingObjective), ProductIDs: d.ProductIDs,
		MultiplierConfig: d.MultiplierConfig, TargetingFilters: d.TargetingFilters, ExclusionFilters: d.ExclusionFilters,
		Schedule: d.Schedule, HoldoutPercent: c.HoldoutPercent,
		BidCount: c.BidCount, PacingState: pacingStateOf(c, m.CurrencyExponent), CreatedAt: resource.Time(c.CreatedMillis), UpdatedAt: resource.Time(c.UpdatedMillis),
	}
	if a.ProductIDs == nil {
		a.ProductIDs = []string{}
	}
	if c.Period == model.Total && c.Budget != 0 {
		a.Pacing = &campaigns.Pacings[c.Pacing]
	}
	if c.TargetROASMilli != 0 {
		a.TargetROAS = &resource.Decimal{Text: string(money.AppendDecimal(nil, money.Micros(c.TargetROASMilli)*money.PerMajor/targetROASMilli))}
	}
	return a
}

func textOf(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// budgetOf rounds what remains down, so that a campaign never shows money that it cannot spend. What is used is the
// rest, so that the two add up to the budget and what is carried over; it is more if the budget was lowered below what
// is spent.
func budgetOf(c *store.CampaignState, exponent uint8) *BudgetState {
	if c.Budget == 0 {
		return nil
	}
	amount := money.Minor(c.Budget, exponent)
	limit := money.MinorFloor(c.Money.Cap(), exponent)
	left := money.MinorFloor(c.Money.Cap()-c.Money.Spent, exponent)
	return &BudgetState{
		Amount: amount, AmountUsed: limit - left, AmountRemaining: max(0, left), AmountCarryover: max(0, limit-amount),
		Type: campaigns.Periods[c.Period],
	}
}
