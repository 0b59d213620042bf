package shop

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Interactions are the counts of impressions or of clicks in a report.
type Interactions struct {
	Total   int64  `json:"total"`
	Charged int64  `json:"charged"`
	Decimal string `json:"adSpentDecimal"` // Minor units, at most four decimals.
}

// Spent is the exact amount billed.
func (i Interactions) Spent() (Micros, error) { return ParseMinor(i.Decimal) }

// Report is the report of one campaign, or of a marketplace.
type Report struct {
	Impressions     Interactions `json:"impressions"`
	Clicks          Interactions `json:"clicks"`
	CompleteThrough time.Time    `json:"completeThrough"`
}

// Spent is what the campaign was billed for impressions and clicks.
func (r *Report) Spent() (Micros, error) {
	impressions, err := r.Impressions.Spent()
	if err != nil {
		return 0, err
	}
	clicks, err := r.Clicks.Spent()
	return impressions + clicks, err
}

// Report reads the report of a campaign from the day before an instant to the day after it, so that neither a time zone nor midnight
// leaves a part out.
func (c *Client) Report(ctx context.Context, campaign string, around time.Time) (*Report, error) {
	return c.report(ctx, "campaigns/"+url.PathEscape(campaign), around)
}

// MarketplaceReport reads the report of all campaigns together, of the days that Report reads.
func (c *Client) MarketplaceReport(ctx context.Context, around time.Time) (*Report, error) {
	return c.report(ctx, "marketplace", around)
}

func (c *Client) report(ctx context.Context, of string, around time.Time) (*Report, error) {
	const date = "2006-01-02"
	query := url.Values{
		"start_date": {around.Add(-24 * time.Hour).UTC().Format(date)},
		"end_date":   {around.Add(24 * time.Hour).UTC().Format(date)},
	}
	var r Report
	if err := c.call(ctx, http.MethodGet, "/reporting-service/"+of, query, "", nil, &r); err != nil {
		return nil, err
	}
	if r.CompleteThrough.IsZero() {
		return nil, fmt.Errorf("the report of %s has no completeThrough", of)
	}
	return &r, nil
}

// CompleteReport reads the report of a campaign until it says that everything accepted before an instant is counted. It returns an error when
// that is not so within 10 s.
func (c *Client) CompleteReport(ctx context.Context, campaign string, accepted time.Time) (*Report, error) {
	const waitMax = 10 * time.Second // BOUND: five times what a report may lag.
	for deadline := time.Now().Add(waitMax); ; time.Sleep(100 * time.Millisecond) {
		r, err := c.Report(ctx, campaign, accepted)
		if err != nil || !r.CompleteThrough.Before(accepted) {
			return r, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("the report of campaign %s is complete through %v only, want %v", campaign, r.CompleteThrough, accepted)
		}
	}
}
