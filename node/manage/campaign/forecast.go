package campaign

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

const (
	// confidence of the intervals, in percent.
	confidence = 90
	// spanMin is the shortest recording from which a day is extrapolated.
	spanMin = time.Minute
	// ownMin is how many impressions a campaign needs before its own rates are used.
	ownMin = 1_000
	// rateDays is how many days of counters rates are taken from.
	rateDays = 30
	// bidsPage is how many bids are read at a time. BOUND: a campaign has at most 5,000.
	bidsPage = 1_000
)

// ForecastCore replays recorded auctions.
type ForecastCore interface {
	Replay(ctx context.Context, marketplace uint16, s *market.WhatIf, now time.Time) (serving.Replay, apierr.Code, error)
}

type forecastService struct {
	core ForecastCore
	now  func() time.Time
}

// RegisterForecast mounts the operation.
func RegisterForecast(api huma.API, core ForecastCore, now func() time.Time) {
	s := forecastService{core, now}
	resource.Add(api, resource.Op{
		ID: "forecastCampaign", Method: http.MethodGet, Path: "/public/v1/campaign-service/campaigns/{campaign_id}/forecast", Tag: "Campaigns", Background: limits.KindForecast,
		Doc: "Forecast a campaign from the auctions that this node recorded last: which of them would it win, as it is now, against the " +
			"present bids of others? The forecast ignores dates, status, isActive and restrictions, so a campaign can be created " +
			"with isActive false and forecast before it runs.",
	}, s.forecast)
}

type (
	forecastInput struct {
		OneCampaign
		BidPercent  int64 `query:"bid_percent" minimum:"1" maximum:"1000" default:"100" doc:"All bids of the campaign are multiplied by this percentage."`
		ViewPercent int64 `query:"view_percent" minimum:"1" maximum:"100" default:"100" doc:"How many of 100 winners shoppers see. Gavel does not know this; with 100 the numbers are an upper bound."`
	}
	forecastOutput struct{ Body Forecast }
)

func (s forecastService) forecast(ctx context.Context, in *forecastInput) (*forecastOutput, error) {
	st := resource.Tenant(ctx)
	id := resource.ParseUUID(in.CampaignID)
	c, err := st.Campaign(ctx, id)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	if c.Status == model.Terminated {
		return nil, resource.Refuse(apierr.InvalidOperation, "the campaign is terminated")
	}
	supposition := market.WhatIf{Campaign: c.Campaign, Excluded: &c.Campaign}
	for more := true; more; {
		var page []model.Bid
		if page, more, err = st.Bids(ctx, id, len(supposition.Bids), bidsPage); err != nil {
			return nil, resource.ErrorOf(err)
		}
		supposition.Bids = append(supposition.Bids, page...)
		more = more && len(page) > 0
	}
	for i := range supposition.Bids {
		b := &supposition.Bids[i]
		b.Amount = max(1, min(b.Amount, forecastAmountMax)*money.Micros(in.BidPercent)/100)
	}
	now := s.now()
	replay, code, err := s.core.Replay(ctx, resource.CallerOf(ctx).Marketplace, &supposition, now)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	if code != apierr.OK {
		return nil, resource.Refuse(code, "")
	}
	m := st.Settings()
	rates, err := ratesOf(ctx, st, &m, id, now)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	e := estimator{campaign: &c.Campaign, bids: supposition.Bids, replay: &replay, rates: rates, seen: float64(in.ViewPercent) / 100, exponent: m.CurrencyExponent, multiplier: 1}
	if err := s.pace(ctx, resource.CallerOf(ctx).Marketplace, &supposition, &e, now); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &forecastOutput{e.forecast()}, nil
}

// ratesOf reads the counts of impressions, clicks and purchases: those of the campaign, or, if it has few, of all.
func ratesOf(ctx context.Context, st store.Tenant, m *model.Marketplace, campaign ids.UUID, now time.Time) (rates, error) {
	own, err := campaignRates(ctx, st, m, campaign, now)
	if err != nil || own.impressions >= ownMin {
		return own, err
	}
	return marketplaceRates(ctx, st, m, now)
}

// ratesDates are the days of which counts are read.
func ratesDates(m *model.Marketplace, now time.Time) store.Dates {
	today := now.In(store.Zone(m.TimeZone))
	return store.Dates{From: today.AddDate(0, 0, -rateDays).Format(time.DateOnly), To: today.Format(time.DateOnly)}
}

func campaignRates(ctx context.Context, st store.Tenant, m *model.Marketplace, campaign ids.UUID, now time.Time) (rates, error) {
	own, err := st.CampaignReport(ctx, campaign, ratesDates(m, now))
	return rates{"campaign", own.Impressions, own.Clicks, own.Purchases}, err
}

func marketplaceRates(ctx context.Context, st store.Tenant, m *model.Marketplace, now time.Time) (rates, error) {
	all, err := st.MarketplaceCounters(ctx, ratesDates(m, now), store.Whole, false)
	if err != nil {
		return rates{}, err
	}
	r := rates{of: "marketplace"}
	for i := range all {
		r.impressions += all[i].Impressions
		r.clicks += all[i].Clicks
		r.purchases += all[i].Purchases
	}
	return r, nil
}
