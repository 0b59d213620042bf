package report

import (
	"context"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// CompareInput selects other days to compare a sum with.
type CompareInput struct {
	CompareStartDate string `query:"compare_start_date" format:"date" doc:"First day of a period to compare with; needs compare_end_date."`
	CompareEndDate   string `query:"compare_end_date" format:"date" doc:"Last day of the period to compare with; at most 366 days in all."`
}

// Comparison has the numbers of another period, which may have another length.
type Comparison struct {
	StartDate string `json:"startDate" format:"date"`
	EndDate   string `json:"endDate" format:"date"`
	Numbers
	Pageviews *int64    `json:"pageviews,omitempty" doc:"As in the report."`
	Auctions  *Auctions `json:"auctions,omitempty" doc:"As in the report."`
}

// otherDays returns the days to compare with. asked is false without any.
func (in *CompareInput) otherDays() (d store.Dates, asked bool, err error) {
	refuse := func(kind, message, parameter string) error {
		return resource.Invalid(resource.At(kind, message, "query", parameter))
	}
	switch {
	case in.CompareStartDate == "" && in.CompareEndDate == "":
		return d, false, nil
	case in.CompareStartDate == "":
		return d, false, refuse("missing", "is needed with compare_end_date", "compare_start_date")
	case in.CompareEndDate == "":
		return d, false, refuse("missing", "is needed with compare_start_date", "compare_end_date")
	}
	if d, err = resource.Days(in.CompareStartDate, in.CompareEndDate); err != nil {
		err = refuse("value_error", "must be on compare_start_date or at most 365 days after it", "compare_end_date")
	}
	return d, true, err
}

// compare returns the numbers of the days to compare with, as read returns them, or nil when the request names no such days.
func (in *CompareInput) compare(ctx context.Context, read func(ctx context.Context, d store.Dates) (Comparison, error)) (*Comparison, error) {
	d, asked, err := in.otherDays()
	if err != nil || !asked {
		return nil, err
	}
	c, err := read(ctx, d)
	if err != nil {
		return nil, err
	}
	c.StartDate, c.EndDate = d.From, d.To
	return &c, nil
}
