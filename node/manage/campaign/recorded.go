package campaign

import (
	"context"
	"errors"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/serving"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
)

// Recording are recorded auctions as an answer. Its form is a file format: bench/pacing/record reads it.
type Recording struct {
	Format        string              `json:"format" enum:"gavel-recording-1" doc:"Name and version of the form."`
	From          string              `json:"from" format:"date-time" doc:"All requests from here to the end had the same chance to be recorded."`
	To            string              `json:"to" format:"date-time"`
	Every         uint64              `json:"every" doc:"One in this many requests was recorded, on average; 0: none (explain.sample)."`
	Omitted       int                 `json:"omitted" doc:"Recorded requests that are left out, because they were too large or are no longer valid."`
	OffsetSeconds int32               `json:"offsetSeconds" doc:"Local time of the marketplace less UTC."`
	ReserveCPC    int64               `json:"reserveCpc" doc:"Reserve price of the marketplace per click, in millionths of the currency."`
	ReserveCPM    int64               `json:"reserveCpm" doc:"The same per thousand impressions."`
	Campaigns     []RecordingCampaign `json:"campaigns"`
	Auctions      []RecordingAuction  `json:"auctions" doc:"The newest first."`
}

// RecordingCampaign is a campaign of a Recording.
type RecordingCampaign struct {
	ID        string  `json:"id"`
	Vendor    int     `json:"vendor" doc:"Campaigns of one vendor have the same number."`
	Charge    string  `json:"charge" enum:"CPC,CPM" doc:"What the campaign pays for."`
	Budget    int64   `json:"budget" doc:"Budget of a day in millionths of the currency; 0: none. A weekly one counts as a seventh, a monthly one as 1/30.4, a total one as what is left."`
	ClickRate float64 `json:"clickRate" doc:"Clicks per impression of the last 30 days, of the campaign or, with fewer than 1,000 impressions, of the marketplace."`
}

// RecordingAuction is an auction of a Recording.
type RecordingAuction struct {
	AtMillis int64     `json:"at" doc:"Unix time in milliseconds."`
	Slots    int       `json:"slots"`
	Banner   bool      `json:"banner,omitempty" doc:"It was for a banner."`
	Bids     [][]int64 `json:"bids" doc:"Each is the index of the campaign, the amount in millionths after targeting, and the quality in units of 1/2^30."`
}

type recordedOutput struct{ Body Recording }

// recordingFormat names format and version.
const recordingFormat = "gavel-recording-1"

func (s explainService) recorded(ctx context.Context, _ *nothing) (*recordedOutput, error) {
	now, st := s.now(), resource.Tenant(ctx)
	r, code, err := s.core.Recorded(ctx, resource.CallerOf(ctx).Marketplace, now)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	if code != apierr.OK {
		return nil, resource.Refuse(code, "")
	}
	m := st.Settings()
	out := Recording{
		Format: recordingFormat, From: timeText(r.From), To: timeText(r.To), Every: r.Every, Omitted: r.Omitted, OffsetSeconds: r.OffsetSeconds,
		ReserveCPC: int64(m.Reserve[model.CPC]), ReserveCPM: int64(m.Reserve[model.CPM]),
		Campaigns: make([]RecordingCampaign, 0, len(r.Campaigns)), Auctions: make([]RecordingAuction, 0, len(r.Auctions)),
	}
	all, err := marketplaceRates(ctx, st, &m, now)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	for i := range r.Campaigns {
		c, err := recordingCampaign(ctx, st, &m, &r.Campaigns[i], &all, now)
		if err != nil {
			return nil, resource.ErrorOf(err)
		}
		out.Campaigns = append(out.Campaigns, c)
	}
	for i := range r.Auctions {
		out.Auctions = append(out.Auctions, recordingAuction(&r.Auctions[i]))
	}
	return &recordedOutput{out}, nil
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// recordingCampaign reads budget and click rate of a campaign. One that was deleted in the meantime has neither.
func recordingCampaign(
	ctx context.Context, st store.Tenant, m *model.Marketplace, r *serving.RecordedCampaign, all *rates, now time.Time,
) (c RecordingCampaign, err error) {
	c = RecordingCampaign{ID: r.ID, Vendor: r.Vendor, Charge: "CPC"}
	if r.Charge == model.CPM {
		c.Charge = "CPM"
	}
	id := resource.ParseUUID(r.ID)
	state, err := st.Campaign(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Budget = dailyBudget(&state)
	own, err := campaignRates(ctx, st, m, id, now)
	if err != nil {
		return c, err
	}
	if own.impressions < ownMin {
		own = *all
	}
	if own.impressions > 0 {
		c.ClickRate = float64(own.clicks) / float64(own.impressions)
	}
	return c, nil
}

// dailyBudget returns what a campaign may spend on a day, 0 for no limit.
func dailyBudget(c *store.CampaignState) int64 {
	budget := int64(c.Budget)
	switch c.Period {
	case model.Weekly:
		return budget / 7
	case model.Monthly:
		return budget * 10 / 304
	case model.Total:
		left, limited := c.Money.Left()
		if !limited {
			return 0
		}
		return max(int64(left), 1) // 0 would mean no limit.
	case model.Daily:
	}
	return budget
}

func recordingAuction(r *serving.RecordedAuction) RecordingAuction {
	a := RecordingAuction{AtMillis: r.AtMillis, Slots: r.Slots, Banner: r.Format == model.Banner, Bids: make([][]int64, len(r.Bids))}
	for i, b := range r.Bids {
		a.Bids[i] = []int64{int64(b.Campaign), b.Amount, int64(b.Quality)}
	}
	return a
}
