package report

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// hourDaysMax is the most days of a report by hour. BOUND: 744 rows, and one more when the clocks change.
const hourDaysMax = 31

// within checks that a report does not have more days than one of its granularity may have.
func within(d store.Dates, by store.Granularity) (store.Dates, error) {
	if by != store.Hourly {
		return d, nil
	}
	return resource.DaysWithin(d.From, d.To, hourDaysMax)
}

// Hour is one hour of a campaign.
type Hour struct {
	Hour resource.Time `json:"hour" doc:"Beginning of the hour. Hours are those of the marketplace's time zone."`
	Numbers
	Auctions *Auctions `json:"auctions" doc:"Auctions that the campaign has won and lost in the hour."`
}

// Hours is one page of hours.
type Hours struct {
	Reports []Hour `json:"reports"`
	resource.Page
	CompleteThrough resource.Time `json:"completeThrough"`
}

// TotalHour is one hour of a product, a vendor or the marketplace.
type TotalHour struct {
	Hour resource.Time `json:"hour" doc:"Beginning of the hour. Hours are those of the marketplace's time zone."`
	Numbers
	Pageviews *int64    `json:"pageviews,omitempty" doc:"Views of pages of the storefront; of the marketplace only."`
	Auctions  *Auctions `json:"auctions,omitempty" doc:"Auctions that the campaigns of the vendor or of the marketplace have won and lost in the hour; not of products."`
}

// TotalHours is one page of hours.
type TotalHours struct {
	Reports []TotalHour `json:"reports"`
	resource.Page
	CompleteThrough resource.Time `json:"completeThrough"`
}

type (
	hourlyOutput     struct{ Body Hours }
	totalHoursOutput struct{ Body TotalHours }
)

// hourOf reads the Date of a row by hour.
func hourOf(date string) resource.Time {
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		panic(err) // The store has written it.
	}
	return resource.Time(at.UnixMilli())
}

func hourly(ctx context.Context, in *PagedInput) (*hourlyOutput, error) {
	x, err := in.read(ctx, "getCampaignHourlyReport", store.Hourly)
	if err != nil {
		return nil, err
	}
	all := make([]Hour, len(x.page))
	for i := range x.page {
		all[i] = Hour{hourOf(x.page[i].Date), x.numbers(i), auctionsOf(&x.page[i].Auctions)}
	}
	return &hourlyOutput{Hours{all, x.end, x.through}}, nil
}

// totalHours serves a page of hours.
func totalHours[I any, P interface {
	*I
	pagedSubject
}](ctx context.Context, input *I) (*totalHoursOutput, error) {
	in := P(input)
	x, err := totalRows(ctx, in, "hourly", store.Hourly)
	if err != nil {
		return nil, err
	}
	all := make([]TotalHour, len(x.page))
	for i := range x.page {
		n := &x.page[i]
		all[i] = TotalHour{hourOf(n.Date), totalOf(in, n, x.exponent), in.views(n), in.auctions(n)}
	}
	return &totalHoursOutput{TotalHours{all, x.end, x.through}}, nil
}
