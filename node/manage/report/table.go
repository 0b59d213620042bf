package report

import (
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// Table has one row with the sum, and a second one with that of the days to compare with.
func (r Report) Table() resource.Table {
	return sums(r.days, Comparison{Numbers: r.Numbers, Auctions: r.Auctions}, r.Comparison, r.CompleteThrough)
}

// Table has one row with the sum, and a second one with that of the days to compare with.
func (t Total) Table() resource.Table {
	own := Comparison{Numbers: t.Numbers, Pageviews: t.Pageviews, Auctions: t.Auctions}
	return sums(t.days, own, t.Comparison, t.CompleteThrough)
}

// Table has one row per day.
func (d Days) Table() resource.Table {
	return resource.Table{Rows: d.Reports, Page: d.Page, CompleteThrough: d.CompleteThrough}
}

// Table has one row per day.
func (d TotalDays) Table() resource.Table {
	return resource.Table{Rows: d.Reports, Page: d.Page, CompleteThrough: d.CompleteThrough}
}

// Table has one row per hour.
func (h Hours) Table() resource.Table {
	return resource.Table{Rows: h.Reports, Page: h.Page, CompleteThrough: h.CompleteThrough}
}

// Table has one row per hour.
func (h TotalHours) Table() resource.Table {
	return resource.Table{Rows: h.Reports, Page: h.Page, CompleteThrough: h.CompleteThrough}
}

// Table has one row per product.
func (p Products) Table() resource.Table {
	return resource.Table{Rows: p.Reports, Page: p.Page, CompleteThrough: p.CompleteThrough}
}

// Table has one row per line.
func (i Interactions) Table() resource.Table {
	return resource.Table{Rows: i.Interactions, Page: i.Page, CompleteThrough: i.CompleteThrough}
}

// sums makes the table of a sum, whose rows begin with their days because the sums of two periods may stand in one file.
func sums(days store.Dates, own Comparison, other *Comparison, through resource.Time) resource.Table {
	own.StartDate, own.EndDate = days.From, days.To
	rows := []Comparison{own}
	if other != nil {
		rows = append(rows, *other)
	}
	return resource.Table{Rows: rows, CompleteThrough: through}
}
