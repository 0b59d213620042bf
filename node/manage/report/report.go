// Package report serves the numbers of campaigns, products, vendors and the marketplace: sums, numbers by day and by hour, and
// lines of interactions.
//
// Reports of products, vendors and the marketplace, and interactions, read the hours of all campaigns (of the vendor) in their span. Their
// cost depends on what they read and not on what they answer, so they run beside auctions and within a budget (node/limits). A
// marketplace's sums read no counters of products; purchase_count_by_product and interactions do.
//
// Auctions won and lost are counted by campaign on each node, which reports them every ten seconds; they lag by that much behind
// completeThrough, which is about events. A node that is killed loses those of ten seconds.
//
// Every answer can also be had as CSV; the type of its body says what the rows are.
//
// Limits: purchases of a campaign are those attributed to it; those of the other reports are all purchases, and "attributed" says which
// of them were credited to ads. Counters do not contain the seller: a vendor's report has the purchases of products that no
// other vendor sells, and lines of interactions have a null vendorId for the others, so these numbers may be too low, but nothing is
// counted twice. Purchases of products that are in no catalog, beyond 10,000 products of a day and group, are counted for the product
// "other"; a product of the catalog with that id would share its counters.
package report

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/money"
	"github.com/gavel-ads/gavel/shard/rollup"
)

const (
	service = "/public/v1/reporting-service"
	base    = service + "/campaigns/{campaign_id}"
	tag     = "Reports"
)

// Register mounts the report operations.
func Register(api huma.API) {
	add(api, "getCampaignReport", base, "Sum a campaign's numbers over days.", sum)
	add(api, "getCampaignDailyReport", base+"/daily", "List a campaign's numbers by day, oldest first; days without any are left out.", daily)
	add(api, "getCampaignHourlyReport", base+"/hourly", "List a campaign's numbers by hour, oldest first, of at most 31 days; hours without any are left out.", hourly)
	add(api, "getCampaignProductsReport", base+"/products", "List a campaign's numbers by product, in the order of product ids.", products)
	registerSubjects(api)
	registerBreakdowns(api)
	registerModels(api)
	registerIncrementality(api)
	registerExperiment(api)
	registerReach(api)
	add(api, "listInteractions", service+"/interactions",
		"List the numbers of vendors, campaigns or products by hour or day, newest first; empty ones are left out.", interactions)
}

func add[I, O any](api huma.API, id, path, doc string, serve func(context.Context, *I) (*O, error)) {
	resource.Add(api, resource.Op{ID: id, Method: http.MethodGet, Path: path, Tag: tag, Doc: doc, Background: limits.KindReport}, serve)
}

// Spend counts events of one kind and what they cost.
type Spend struct {
	Total          int64  `json:"total"`
	Charged        int64  `json:"charged"`
	AdSpent        int64  `json:"adSpent" doc:"Minor units, rounded half up."`
	AdSpentDecimal string `json:"adSpentDecimal" csv:"number" doc:"Minor units, exact, with as many decimals as the currency needs."`
}

// Overdelivery is what clicks and impressions would have cost that were not charged, or not in full, because nothing was
// left of the budget or the wallet. It is never billed.
type Overdelivery struct {
	Amount        int64  `json:"amount" doc:"Minor units, rounded half up."`
	AmountDecimal string `json:"amountDecimal" csv:"number" doc:"Minor units, exact, with as many decimals as the currency needs."`
}

// Purchases counts purchases.
type Purchases struct {
	Amount         int64            `json:"amount" doc:"Minor units, rounded half up."`
	Count          int64            `json:"count"`
	Quantity       int64            `json:"quantity"`
	CountByProduct map[string]int64 `json:"countByProduct" doc:"Null unless purchase_count_by_product is true. Also null if it is unknown: for a product of a campaign whose ads led to purchases of other products."`
}

// count fills countByProduct from rows of products, if they contain all purchases. Otherwise a part could be taken for the whole.
func (p *Purchases) count(rows []store.ReportRow) {
	byProduct, left := map[string]int64{}, p.Count
	for i := range rows {
		if n := rows[i].Purchases; n > 0 {
			byProduct[rows[i].ProductID] = n
			left -= n
		}
	}
	if left == 0 {
		p.CountByProduct = byProduct
	}
}

// Numbers are the members of every report.
type Numbers struct {
	Impressions Spend     `json:"impressions"`
	Clicks      Spend     `json:"clicks"`
	Purchases   Purchases `json:"purchases"`
	// Attributed is an extension of the interface.
	Attributed Attributed `json:"attributed" doc:"Items of purchases that were credited to ads, by the day of the click or impression. A purchase is credited within a minute; a click or impression that is reported after that is counted, and not credited with it."`
	// Overdelivery is an extension of the interface.
	Overdelivery Overdelivery `json:"overdelivery" doc:"Prices of clicks and impressions that budget or wallet could not pay. They are not billed."`
	// Invalid is an extension of the interface.
	Invalid Invalid `json:"invalid" doc:"Clicks that rules of the marketplace (setting invalidTraffic) have caught. They are in none of the other numbers."`
}

// Report is the sum over the days.
type Report struct {
	days store.Dates // For CSV; JSON does not repeat what the request says.
	Numbers
	Auctions        *Auctions     `json:"auctions" doc:"Auctions that the campaign has won and lost. Nodes report them every 10 seconds."`
	Comparison      *Comparison   `json:"comparison,omitempty" doc:"The numbers of the days from compare_start_date to compare_end_date."`
	CompleteThrough resource.Time `json:"completeThrough"`
}

// Day is one day.
type Day struct {
	Date string `json:"date" format:"date"`
	Numbers
	Auctions *Auctions `json:"auctions" doc:"Auctions that the campaign has won and lost on the day."`
}

// Product is one product.
type Product struct {
	ProductID string `json:"productId"`
	Numbers
}

// Days is one page of days.
type Days struct {
	Reports []Day `json:"reports"`
	resource.Page
	CompleteThrough resource.Time `json:"completeThrough"`
}

// Products is one page of products.
type Products struct {
	Reports []Product `json:"reports"`
	resource.Page
	CompleteThrough resource.Time `json:"completeThrough"`
}

// DaysInput selects the days.
type DaysInput struct {
	StartDate              string `query:"start_date" required:"true" format:"date" doc:"First day, in the marketplace's time zone."`
	EndDate                string `query:"end_date" required:"true" format:"date" doc:"Last day; at most 366 days in all."`
	PurchaseCountByProduct bool   `query:"purchase_count_by_product" default:"false" doc:"Fills countByProduct."`
}

// DatesInput selects the campaign and the days.
type DatesInput struct {
	CampaignID string `path:"campaign_id" format:"uuid"`
	resource.Owned
	DaysInput
}

// CheckOwner refuses a request that names another vendor than the campaign's.
func (in *DatesInput) CheckOwner(ctx context.Context) error {
	return in.CheckCampaign(ctx, in.CampaignID)
}

// SumInput adds the days to compare with.
type SumInput struct {
	DatesInput
	CompareInput
}

// Paging selects a page.
type Paging struct {
	Limit    int    `query:"limit" minimum:"0" maximum:"365" default:"100"`
	NextPage string `query:"next_page"`
}

// PagedInput adds the paging.
type PagedInput struct {
	DatesInput
	Paging
}

type (
	sumOutput      struct{ Body Report }
	dailyOutput    struct{ Body Days }
	productsOutput struct{ Body Products }
)

func (in *DaysInput) dates() (store.Dates, error) { return resource.Days(in.StartDate, in.EndDate) }

// open checks the days, then the campaign. It reads completeThrough before the numbers, so that it never promises too much.
func (in *DatesInput) open(ctx context.Context) (d store.Dates, campaign ids.UUID, through resource.Time, err error) {
	if d, err = in.dates(); err != nil {
		return d, campaign, 0, err
	}
	campaign = resource.ParseUUID(in.CampaignID)
	if _, err = resource.Tenant(ctx).Campaign(ctx, campaign); err != nil {
		return d, campaign, 0, resource.ErrorOf(err)
	}
	return d, campaign, resource.Time(resource.Tenant(ctx).CompleteThrough().UnixMilli()), nil
}

func (in *PagedInput) cursors(ctx context.Context, operation string) resource.Cursors {
	return resource.CursorsFor(ctx, resource.Tenant(ctx).CursorKey(), operation, in.CampaignID, in.StartDate, in.EndDate)
}

func sum(ctx context.Context, in *SumInput) (*sumOutput, error) {
	if _, _, err := in.otherDays(); err != nil {
		return nil, err
	}
	d, campaign, through, err := in.open(ctx)
	if err != nil {
		return nil, err
	}
	read := func(ctx context.Context, d store.Dates) (Comparison, error) {
		return campaignSum(ctx, campaign, d, in.PurchaseCountByProduct)
	}
	own, err := read(ctx, d)
	if err != nil {
		return nil, err
	}
	other, err := in.compare(ctx, read)
	if err != nil {
		return nil, err
	}
	return &sumOutput{Report{days: d, Numbers: own.Numbers, Auctions: own.Auctions, Comparison: other, CompleteThrough: through}}, nil
}

// campaignSum sums a campaign's numbers over days.
func campaignSum(ctx context.Context, campaign ids.UUID, d store.Dates, byProduct bool) (sum Comparison, err error) {
	st := resource.Tenant(ctx)
	c, err := st.CampaignReport(ctx, campaign, d)
	if err != nil {
		return sum, resource.ErrorOf(err)
	}
	sum.Numbers = numbersOf(&c, st.Settings().CurrencyExponent)
	if byProduct {
		sold, err := st.CampaignSold(ctx, campaign, d, store.Whole)
		if err != nil {
			return sum, resource.ErrorOf(err)
		}
		sum.Purchases.count(sold[""])
	}
	auctions, err := st.CampaignAuctions(ctx, campaign, d)
	sum.Auctions = auctionsOf(&auctions)
	return sum, resource.ErrorOf(err)
}

func daily(ctx context.Context, in *PagedInput) (*dailyOutput, error) {
	x, err := in.read(ctx, "getCampaignDailyReport", store.Daily)
	if err != nil {
		return nil, err
	}
	all := make([]Day, len(x.page))
	for i := range x.page {
		all[i] = Day{Date: x.page[i].Date, Numbers: x.numbers(i), Auctions: auctionsOf(&x.page[i].Auctions)}
	}
	return &dailyOutput{Days{all, x.end, x.through}}, nil
}

// campaignRows are the rows of a page of a campaign's report.
type campaignRows struct {
	page     []store.ReportRow
	sold     map[string][]store.ReportRow // Nil unless they are to be counted by product.
	end      resource.Page
	through  resource.Time
	exponent uint8
}

// read reads a page of the campaign's rows.
func (in *PagedInput) read(ctx context.Context, operation string, by store.Granularity) (x campaignRows, err error) {
	d, campaign, through, err := in.open(ctx)
	if err == nil {
		d, err = within(d, by)
	}
	if err != nil {
		return x, err
	}
	st := resource.Tenant(ctx)
	rows, err := st.CampaignRows(ctx, campaign, d, by)
	if err != nil {
		return x, resource.ErrorOf(err)
	}
	date := func(r store.ReportRow) string { return r.Date }
	x = campaignRows{through: through, exponent: st.Settings().CurrencyExponent}
	if x.page, x.end, err = cut(in.cursors(ctx, operation), in.Paging, date, rows); err != nil {
		return x, err
	}
	if in.PurchaseCountByProduct {
		x.sold, err = st.CampaignSold(ctx, campaign, d, by)
	}
	return x, resource.ErrorOf(err)
}

// numbers returns those of a row.
func (x *campaignRows) numbers(i int) Numbers {
	n := numbersOf(&x.page[i].Counters, x.exponent)
	if x.sold != nil {
		n.Purchases.count(x.sold[x.page[i].Date])
	}
	return n
}

func products(ctx context.Context, in *PagedInput) (*productsOutput, error) {
	d, campaign, through, err := in.open(ctx)
	if err != nil {
		return nil, err
	}
	st := resource.Tenant(ctx)
	rows, err := st.CampaignProducts(ctx, campaign, d)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	id := func(r store.ReportRow) string { return r.ProductID }
	page, end, err := cut(in.cursors(ctx, "getCampaignProductsReport"), in.Paging, id, rows)
	if err != nil {
		return nil, err
	}
	exponent := st.Settings().CurrencyExponent
	all := make([]Product, len(page))
	for i := range page {
		r := &page[i]
		all[i] = Product{r.ProductID, numbersOf(&r.Counters, exponent)}
		if r.Halo.Count > 0 {
			continue // The products of the same vendor that were bought are not counted by bid.
		}
		all[i].Purchases.CountByProduct = map[string]int64{}
		if r.Purchases > 0 {
			all[i].Purchases.CountByProduct[r.ProductID] = r.Purchases
		}
	}
	return &productsOutput{Products{all, end, through}}, nil
}

// cut returns a page of the rows.
func cut[T any](c resource.Cursors, p Paging, id func(T) string, rows []T) ([]T, resource.Page, error) {
	page, end, err := resource.ListOrPeek(c, p.NextPage, p.Limit, id, resource.Sorted(rows, id))
	return page, end, resource.ErrorOf(err)
}

func numbersOf(c *rollup.Counters, exponent uint8) Numbers {
	return Numbers{
		Impressions: spendOf(c.Impressions, c.ChargedImpressions, c.SpentImpressions, exponent),
		Clicks:      spendOf(c.Clicks, c.ChargedClicks, c.SpentClicks, exponent),
		Purchases:   Purchases{Amount: money.Minor(c.PurchaseAmount, exponent), Count: c.Purchases, Quantity: c.PurchaseQuantity},
		Attributed:  attributedOf(c, exponent),
		Overdelivery: Overdelivery{
			money.Minor(c.Overdelivery, exponent), string(money.AppendMinorDecimal(nil, c.Overdelivery, exponent)),
		},
		Invalid: invalidOf(c),
	}
}

func spendOf(total, charged int64, spent money.Micros, exponent uint8) Spend {
	return Spend{total, charged, money.Minor(spent, exponent), string(money.AppendMinorDecimal(nil, spent, exponent))}
}
