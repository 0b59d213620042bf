package campaign

import (
	"context"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/money"
)

type (
	createInput struct {
		VendorID string `query:"vendor_id" required:"true" minLength:"1" maxLength:"255" doc:"The vendor of the campaign."`
		Body     Body
	}
	campaignOutput struct{ Body Campaign }
)

// create stores a campaign. Members are checked first, then the resources that they name, as the interface requires.
func (s service) create(ctx context.Context, in *createInput) (*campaignOutput, error) {
	st := storeOf(ctx)
	b := &in.Body
	m := st.Settings()
	now := s.now().UnixMilli()
	c := b.campaign(now, m.CurrencyExponent)
	c.VendorID = in.VendorID
	t := bidRulesOf(&c, &m)
	bids, found := t.read(b.Bids, "body", "bids")
	if found = append(s.validateCrossField(b, now), found...); len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	if _, err := st.Vendor(ctx, in.VendorID); err != nil {
		return nil, resource.VendorErrorOf(err)
	}
	wallet, err := walletOf(ctx, in.VendorID, b.WalletID)
	if err != nil {
		return nil, err
	}
	if found, err = b.filters().unknownSegments(ctx); err != nil {
		return nil, err
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	if err := t.validateReferences(ctx, bids); err != nil {
		return nil, err
	}
	c.Wallet = wallet
	c.StatusUpdatedBy = updatedBy(ctx)
	if err := st.CreateCampaign(ctx, &c, bids); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return s.answer(ctx, c.ID)
}

// validateCrossField checks the rules that concern more than one member.
func (s service) validateCrossField(b *Body, nowMillis int64) (found []resource.Violation) {
	if !numberOf[market.ChargeType](chargeWords, b.ChargeType).Charged() {
		found = append(found, resource.At("value_error", "must be CPC or CPM: this release charges no purchases, so a CPA campaign would win for free", "body", "chargeType"))
	}
	if p := b.PromotionType; p != nil && p.AdFormat != "" && b.AdFormat != "" && p.AdFormat != b.AdFormat {
		found = append(found, resource.At("value_error", "must be equal to adFormat, because it is an alias", "body", "promotionType", "adFormat"))
	}
	if b.CampaignType == "autobidding" && b.TargetROAS == nil && b.AutobiddingObjective == "" {
		found = append(found, resource.At("missing", "autobidding needs targetRoas or autobiddingObjective", "body", "targetRoas"))
	}
	if b.EndDate != nil && int64(*b.EndDate) <= startOf(b, nowMillis) {
		found = append(found, resource.At("value_error", "must be after startDate", "body", "endDate"))
	}
	if v, ok := roas(b.TargetROAS); !ok {
		found = append(found, v)
	}
	return append(found, b.filters().validateCrossField()...)
}

// format is the ad format, from adFormat or its alias.
func (b *Body) format() market.AdFormat {
	word := b.AdFormat
	if word == "" && b.PromotionType != nil {
		word = b.PromotionType.AdFormat
	}
	return numberOf[market.AdFormat](formatWords, word)
}

func startOf(b *Body, nowMillis int64) int64 {
	if b.StartDate == nil {
		return nowMillis
	}
	return int64(*b.StartDate)
}

// roas checks that a target is a whole number of thousandths, the unit in which it is stored.
func roas(d *resource.Decimal) (resource.Violation, bool) {
	if d == nil {
		return resource.Violation{}, true
	}
	_, ok := d.Thousandths()
	return resource.At("value_error", "must have at most three decimals", "body", "targetRoas"), ok
}

// milliOf returns a target in thousandths. REQUIRES: roas has accepted it.
func milliOf(d resource.Decimal) uint32 {
	n, ok := d.Thousandths()
	if !ok {
		panic("roas has checked this number")
	}
	return n
}

// campaign converts the body to the engine's form.
func (b *Body) campaign(nowMillis int64, exponent uint8) market.Campaign {
	c := market.Campaign{
		Name: b.Name, Type: b.CampaignType,
		Format:      b.format(),
		Charge:      market.CPC,
		Price:       numberOf[market.PriceRule](priceWords, b.PriceRule),
		StartMillis: startOf(b, nowMillis),
		Active:      isTrue(b.IsActive, true),
		AutoTrigger: isTrue(b.IsAutoTrigger, false),
		Status:      market.Approved,
		ExternalID:  b.ExternalCampaignID,
	}
	if c.Format != market.Listing {
		c.Charge, c.Products = market.CPM, b.ProductIDs
	}
	if b.ChargeType != "" {
		c.Charge = numberOf[market.ChargeType](chargeWords, b.ChargeType)
	}
	if b.Status != "" {
		c.Status = statusOf(b.Status)
	}
	if b.EndDate != nil {
		c.EndMillis = int64(*b.EndDate)
	}
	if b.Budget != nil {
		c.Budget = minor(b.Budget.Amount, exponent)
		c.Period = numberOf[market.Period](periodWords, b.Budget.Type)
	}
	if b.TargetROAS != nil {
		c.TargetROASMilli = milliOf(*b.TargetROAS)
	}
	d := document{
		AutobiddingObjective: b.AutobiddingObjective, ProductIDs: b.ProductIDs, MultiplierConfig: b.MultiplierConfig,
		TargetingFilters: b.TargetingFilters, ExclusionFilters: b.ExclusionFilters, Schedule: b.Schedule,
	}
	c.Document, c.Segments, c.Schedule = d.encode(), d.segmentRules(), d.hours()
	return c
}

// minor converts an amount whose bounds the schema has checked.
func minor(amount int64, exponent uint8) money.Micros {
	m, err := money.FromMinor(amount, exponent)
	if err != nil {
		panic(fmt.Sprintf("the bounds of amounts (%d) must lie in those of money", amount))
	}
	return m
}

// walletOf returns the id of the wallet that pays for a campaign of the vendor.
func walletOf(ctx context.Context, vendorID, walletID string) (ids.UUID, error) {
	wallets, err := storeOf(ctx).Wallets(ctx, vendorID)
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

// updatedBy names the key that set the status.
func updatedBy(ctx context.Context) string { return "key:" + resource.CallerOf(ctx).KeyID }

func isTrue(b *bool, absent bool) bool {
	if b == nil {
		return absent
	}
	return *b
}

// answer reads a campaign and converts it to its answer.
func (s service) answer(ctx context.Context, id ids.UUID) (*campaignOutput, error) {
	state, err := storeOf(ctx).Campaign(ctx, id)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	m := storeOf(ctx).Settings()
	return &campaignOutput{campaignOf(&state, &m)}, nil
}

func campaignOf(c *store.CampaignState, m *market.Marketplace) Campaign {
	d := decodeDocument(c.Document)
	a := Campaign{
		CampaignID: c.ID.String(), MarketplaceID: m.ID.String(), VendorID: c.VendorID, ExternalVendorID: c.VendorID,
		ExternalCampaignID: textOf(c.ExternalID), Name: c.Name, CampaignType: c.Type,
		AdFormat: formatWords[c.Format], ChargeType: chargeWords[c.Charge], PriceRule: priceWords[c.Price],
		Budget: budgetOf(c, m.CurrencyExponent), WalletID: c.Wallet.String(),
		StartDate: resource.Time(c.StartMillis), EndDate: resource.TimeOf(c.EndMillis),
		IsActive: c.Active, IsAutoTrigger: c.AutoTrigger,
		Status: statusWords[c.Status], StatusUpdatedBy: textOf(c.StatusUpdatedBy),
		AutobiddingObjective: textOf(d.AutobiddingObjective), ProductIDs: d.ProductIDs,
		MultiplierConfig: d.MultiplierConfig, TargetingFilters: d.TargetingFilters, ExclusionFilters: d.ExclusionFilters,
		Schedule: d.Schedule, BidCount: c.BidCount, CreatedAt: resource.Time(c.CreatedMillis), UpdatedAt: resource.Time(c.UpdatedMillis),
	}
	if a.ProductIDs == nil {
		a.ProductIDs = []string{}
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

// budgetOf rounds the used amount as reports do. What remains is the difference, so that the two always add up to the budget.
func budgetOf(c *store.CampaignState, exponent uint8) *BudgetState {
	if c.Budget == 0 {
		return nil
	}
	amount := money.Minor(c.Budget, exponent)
	used := money.Minor(c.Money.Spent, exponent)
	return &BudgetState{
		Amount: amount, AmountUsed: used, AmountRemaining: max(0, amount-used),
		Type: periodWords[c.Period],
	}
}
