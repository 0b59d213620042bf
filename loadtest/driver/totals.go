package driver

import (
	"context"
	"fmt"
	"time"

	"github.com/gavel-ads/gavel/loadtest/shop"
)

// Totals is the sum of the reports of several campaigns.
type Totals struct {
	Impressions, Clicks, ChargedClicks int64
	Spent                              shop.Micros
	OverBudget                         []string // Descriptions of campaigns that were billed above their budget.
}

// ReportReader reads the reports; *shop.Client is one.
type ReportReader interface {
	Campaigns(ctx context.Context) ([]shop.Campaign, error)
	CompleteReport(ctx context.Context, campaign string, accepted time.Time) (*shop.Report, error)
}

// ReadTotals adds up the reports of all campaigns of a marketplace, complete through the given instant.
func ReadTotals(ctx context.Context, r ReportReader, accepted time.Time) (Totals, error) {
	var t Totals
	campaigns, err := r.Campaigns(ctx)
	if err != nil {
		return t, err
	}
	for _, c := range campaigns {
		report, err := r.CompleteReport(ctx, c.ID, accepted)
		if err != nil {
			return t, err
		}
		spent, err := report.Spent()
		if err != nil {
			return t, fmt.Errorf("campaign %s: %w", c.ID, err)
		}
		t.Impressions += report.Impressions.Total
		t.Clicks += report.Clicks.Total
		t.ChargedClicks += report.Clicks.Charged
		t.Spent += spent
		if c.Budget != nil && spent > shop.Micros(c.Budget.Amount)*shop.MinorUnit {
			t.OverBudget = append(t.OverBudget, fmt.Sprintf("campaign %s spent %v of %d minor units", c.ID, spent, c.Budget.Amount))
		}
	}
	return t, nil
}

// Acknowledged counts the events of bodies that were answered with 200. Every click has its own token, so with budgets that do not run out
// each of them is a charge.
type Acknowledged struct{ Impressions, Clicks int64 }

// CompareTotals describes where the change of the totals differs from what was acknowledged in between. An empty result means that they agree
// exactly.
func CompareTotals(before, after Totals, acked Acknowledged) []string {
	var faults []string
	differ := func(what string, got, want int64) {
		if got != want {
			faults = append(faults, fmt.Sprintf("%s: the reports say %d, acknowledged were %d (%+d)", what, got, want, got-want))
		}
	}
	differ("impressions", after.Impressions-before.Impressions, acked.Impressions)
	differ("clicks", after.Clicks-before.Clicks, acked.Clicks)
	differ("charged clicks", after.ChargedClicks-before.ChargedClicks, acked.Clicks)
	if after.Spent <= before.Spent && acked.Clicks > 0 {
		faults = append(faults, fmt.Sprintf("spent did not grow: %v before, %v after", before.Spent, after.Spent))
	}
	return append(faults, after.OverBudget...)
}
