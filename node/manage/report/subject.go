package report

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// Total is the sum of a product, a vendor or the marketplace over the days.
type Total struct {
	days store.Dates // For CSV; JSON does not repeat what the request says.
	Numbers
	Pageviews       *int64        `json:"pageviews,omitempty" doc:"Views of pages of the storefront; of the marketplace only, because a view names no product and no vendor."`
	Auctions        *Auctions     `json:"auctions,omitempty" doc:"Auctions that the campaigns of the vendor or of the marketplace have won and lost, each counted once for each campaign; not of products. Nodes report them every 10 seconds."`
	Comparison      *Comparison   `json:"comparison,omitempty" doc:"The numbers of the days from compare_start_date to compare_end_date."`
	CompleteThrough resource.Time `json:"completeThrough"`
}

// TotalDay is one day of a product, a vendor or the marketplace.
type TotalDay struct {
	Date string `json:"date" format:"date"`
	Numbers
	Pageviews *int64    `json:"pageviews,omitempty" doc:"Views of pages of the storefront; of the marketplace only."`
	Auctions  *Auctions `json:"auctions,omitempty" doc:"Auctions that the campaigns of the vendor or of the marketplace have won and lost on the day; not of products."`
}

// TotalDays is one page of days.
type TotalDays struct {
	Reports []TotalDay `json:"reports"`
	resource.Page
	CompleteThrough resource.Time `json:"completeThrough"`
}

type (
	totalOutput     struct{ Body Total }
	totalDaysOutput struct{ Body TotalDays }
)

// subject is the input of a report: a product, a vendor or the marketplace, and the days.
type subject interface {
	dates() (store.Dates, error)
	// scope is what cursors are bound to.
	scope() []string
	countsProducts() bool
	// views are the page views of a row, or nil for a report that has none.
	views(row *store.CounterRow) *int64
	// auctions are those of a row, or nil for a report that has none.
	auctions(row *store.CounterRow) *Auctions
	numbers(ctx context.Context, st store.Tenant, d store.Dates, by store.Granularity) ([]store.CounterRow, error)
}

type comparedSubject interface {
	subject
	otherDays() (d store.Dates, asked bool, err error)
	compare(ctx context.Context, read func(ctx context.Context, d store.Dates) (Comparison, error)) (*Comparison, error)
}

type pagedSubject interface {
	subject
	paging() Paging
}

// ProductInput selects a product and the days.
type ProductInput struct {
	ProductID string `path:"product_id" minLength:"1" maxLength:"255"`
	DaysInput
}

// VendorInput selects a vendor and the days.
type VendorInput struct {
	VendorID string `path:"vendor_id" minLength:"1" maxLength:"255"`
	DaysInput
}

// MarketplaceInput selects the days.
type MarketplaceInput struct{ DaysInput }

// ProductSumInput adds the days to compare with.
type ProductSumInput struct {
	ProductInput
	CompareInput
}

// VendorSumInput adds the days to compare with.
type VendorSumInput struct {
	VendorInput
	CompareInput
}

// MarketplaceSumInput adds the days to compare with.
type MarketplaceSumInput struct {
	MarketplaceInput
	CompareInput
}

// ProductDaysInput adds the paging.
type ProductDaysInput struct {
	ProductInput
	Paging
}

// VendorDaysInput adds the paging.
type VendorDaysInput struct {
	VendorInput
	Paging
}

// MarketplaceDaysInput adds the paging.
type MarketplaceDaysInput struct {
	MarketplaceInput
	Paging
}

func registerSubjects(api huma.API) {
	const (
		product     = "Impressions and clicks of all bids on a product, and all its purchases"
		vendor      = "Impressions and clicks of a vendor's campaigns, and purchases of the products that no other vendor sells"
		marketplace = "All events of the marketplace, with and without a campaign"
		perDay      = ", by day, oldest first; days without any are left out."
		perHour     = ", by hour, oldest first, of at most 31 days; hours without any are left out."
	)
	add(api, "getProductReport", service+"/products/{product_id}", product+", summed over days.", total[ProductSumInput])
	add(api, "getProductDailyReport", service+"/products/{product_id}/daily", product+perDay, totalDays[ProductDaysInput])
	add(api, "getProductHourlyReport", service+"/products/{product_id}/hourly", product+perHour, totalHours[ProductDaysInput])
	add(api, "getVendorReport", service+"/vendors/{vendor_id}", vendor+", summed over days.", total[VendorSumInput])
	add(api, "getVendorDailyReport", service+"/vendors/{vendor_id}/daily", vendor+perDay, totalDays[VendorDaysInput])
	add(api, "getVendorHourlyReport", service+"/vendors/{vendor_id}/hourly", vendor+perHour, totalHours[VendorDaysInput])
	add(api, "getMarketplaceReport", service+"/marketplace", marketplace+", summed over days.", total[MarketplaceSumInput])
	add(api, "getMarketplaceDailyReport", service+"/marketplace/daily", marketplace+perDay, totalDays[MarketplaceDaysInput])
	add(api, "getMarketplaceHourlyReport", service+"/marketplace/hourly", marketplace+perHour, totalHours[MarketplaceDaysInput])
}

func (in *ProductInput) scope() []string {
	return []string{"product", in.ProductID, in.StartDate, in.EndDate}
}

func (in *ProductInput) numbers(ctx context.Context, st store.Tenant, d store.Dates, by store.Granularity) ([]store.CounterRow, error) {
	rows, err := st.ProductCounters(ctx, in.ProductID, d, by)
	return rows, resource.ErrorOf(err)
}

func (in *VendorInput) scope() []string {
	return []string{"vendor", in.VendorID, in.StartDate, in.EndDate}
}

func (in *VendorInput) numbers(ctx context.Context, st store.Tenant, d store.Dates, by store.Granularity) ([]store.CounterRow, error) {
	rows, err := st.VendorCounters(ctx, in.VendorID, d, by)
	return rows, resource.VendorErrorOf(err)
}

func (in *MarketplaceInput) scope() []string {
	return []string{"marketplace", in.StartDate, in.EndDate}
}

func (in *MarketplaceInput) numbers(ctx context.Context, st store.Tenant, d store.Dates, by store.Granularity) ([]store.CounterRow, error) {
	rows, err := st.MarketplaceCounters(ctx, d, by, in.PurchaseCountByProduct)
	return rows, resource.ErrorOf(err)
}

func (in *DaysInput) views(*store.CounterRow) *int64 { return nil }

func (in *MarketplaceInput) views(row *store.CounterRow) *int64 { return &row.Pageviews }

func (in *DaysInput) auctions(row *store.CounterRow) *Auctions { return auctionsOf(&row.Auctions) }

func (in *ProductInput) auctions(*store.CounterRow) *Auctions { return nil }

func (in *DaysInput) countsProducts() bool { return in.PurchaseCountByProduct }

func (p *Paging) paging() Paging { return *p }

// total serves a sum. It reads completeThrough before the numbers, so that it never promises too much.
func total[I any, P interface {
	*I
	comparedSubject
}](ctx context.Context, input *I) (*totalOutput, error) {
	in, st := P(input), resource.Tenant(ctx)
	d, err := in.dates()
	if err != nil {
		return nil, err
	}
	if _, _, err := in.otherDays(); err != nil {
		return nil, err
	}
	through := resource.Time(st.CompleteThrough().UnixMilli())
	read := func(ctx context.Context, d store.Dates) (Comparison, error) { return totalSum(ctx, in, d) }
	own, err := read(ctx, d)
	if err != nil {
		return nil, err
	}
	other, err := in.compare(ctx, read)
	if err != nil {
		return nil, err
	}
	return &totalOutput{Total{d, own.Numbers, own.Pageviews, own.Auctions, other, through}}, nil
}

// totalSum sums the numbers of a subject over days.
func totalSum(ctx context.Context, in subject, d store.Dates) (Comparison, error) {
	st := resource.Tenant(ctx)
	rows, err := in.numbers(ctx, st, d, store.Whole)
	if err != nil {
		return Comparison{}, err
	}
	sum := store.CounterRow{Sold: map[string]int64{}}
	if len(rows) > 0 {
		sum = rows[0]
	}
	return Comparison{Numbers: totalOf(in, &sum, st.Settings().CurrencyExponent), Pageviews: in.views(&sum), Auctions: in.auctions(&sum)}, nil
}

// totalDays serves a page of days.
func totalDays[I any, P interface {
	*I
	pagedSubject
}](ctx context.Context, input *I) (*totalDaysOutput, error) {
	in := P(input)
	x, err := totalRows(ctx, in, "daily", store.Daily)
	if err != nil {
		return nil, err
	}
	all := make([]TotalDay, len(x.page))
	for i := range x.page {
		n := &x.page[i]
		all[i] = TotalDay{n.Date, totalOf(in, n, x.exponent), in.views(n), in.auctions(n)}
	}
	return &totalDaysOutput{TotalDays{all, x.end, x.through}}, nil
}

// subjectRows are the rows of a page of the report of a subject.
type subjectRows struct {
	page     []store.CounterRow
	end      resource.Page
	through  resource.Time
	exponent uint8
}

// totalRows reads a page of the rows of a subject.
func totalRows(ctx context.Context, in pagedSubject, name string, by store.Granularity) (x subjectRows, err error) {
	st := resource.Tenant(ctx)
	d, err := in.dates()
	if err == nil {
		d, err = within(d, by)
	}
	if err != nil {
		return x, err
	}
	x = subjectRows{through: resource.Time(st.CompleteThrough().UnixMilli()), exponent: st.Settings().CurrencyExponent}
	rows, err := in.numbers(ctx, st, d, by)
	if err != nil {
		return x, err
	}
	cursors := resource.CursorsFor(ctx, st.CursorKey(), name, in.scope()...)
	x.page, x.end, err = cut(cursors, in.paging(), func(n store.CounterRow) string { return n.Date }, rows)
	return x, err
}

func totalOf(in subject, n *store.CounterRow, exponent uint8) Numbers {
	all := numbersOf(&n.Counters, exponent)
	if in.countsProducts() {
		all.Purchases.CountByProduct = n.Sold
	}
	return all
}
