package audience

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// OffsiteCampaignBody registers a campaign.
type OffsiteCampaignBody struct {
	VendorID   string `json:"vendorId" minLength:"1" maxLength:"255"`
	DSP        string `json:"dsp" enum:"google_ads,meta,tiktok_ads,snapchat_ads"`
	Name       string `json:"name" minLength:"1" maxLength:"255"`
	ExternalID string `json:"externalId" minLength:"1" maxLength:"255" doc:"The network's id of the campaign, unique within the network."`
}

// OffsiteCampaign is a campaign in answers.
type OffsiteCampaign struct {
	CampaignID string        `json:"campaignId" format:"uuid"`
	VendorID   string        `json:"vendorId"`
	DSP        string        `json:"dsp"`
	Name       string        `json:"name"`
	ExternalID string        `json:"externalId"`
	JobID      string        `json:"jobId,omitempty" format:"uuid" doc:"The job that reports the campaign to the network, if the network is connected."`
	CreatedAt  resource.Time `json:"createdAt"`
	UpdatedAt  resource.Time `json:"updatedAt"`
}

// OffsiteRow is the report of one product on one day.
type OffsiteRow struct {
	Date             string `json:"date" format:"date"`
	ProductID        string `json:"productId" minLength:"1" maxLength:"255"`
	Impressions      int64  `json:"impressions" minimum:"0" maximum:"1000000000000"`
	Clicks           int64  `json:"clicks" minimum:"0" maximum:"1000000000000"`
	AdSpentDecimal   string `json:"adSpentDecimal" minLength:"1" maxLength:"20" pattern:"^[0-9]{1,14}([.][0-9]{1,4})?$" doc:"Minor units, at most four decimals."`
	Purchases        int64  `json:"purchases" minimum:"0" maximum:"1000000000000" doc:"How many."`
	PurchaseAmount   int64  `json:"purchaseAmount,omitempty" minimum:"0" maximum:"100000000000000" doc:"Minor units."`
	PurchaseQuantity *int64 `json:"purchaseQuantity,omitempty" minimum:"0" maximum:"1000000000000" doc:"Default purchases."`
}

// OffsiteRows are reported together, all or none.
type OffsiteRows struct {
	Rows []OffsiteRow `json:"rows" minItems:"1" maxItems:"1000"`
}

// OffsiteSpend is how often something happened and what it cost.
type OffsiteSpend struct {
	Total          int64  `json:"total"`
	Charged        int64  `json:"charged"`
	AdSpent        int64  `json:"adSpent" doc:"Minor units, rounded half up."`
	AdSpentDecimal string `json:"adSpentDecimal" doc:"Minor units, exact, with as many decimals as the currency needs."`
}

// OffsitePurchases is what was bought.
type OffsitePurchases struct {
	Amount         int64            `json:"amount" doc:"Minor units."`
	Count          int64            `json:"count"`
	Quantity       int64            `json:"quantity"`
	CountByProduct map[string]int64 `json:"countByProduct"`
}

// OffsiteProduct is the report of one product.
type OffsiteProduct struct {
	ProductID   string           `json:"productId"`
	Impressions OffsiteSpend     `json:"impressions"`
	Clicks      OffsiteSpend     `json:"clicks"`
	Purchases   OffsitePurchases `json:"purchases"`
}

// OffsiteProducts is one page of products.
type OffsiteProducts struct {
	Reports         []OffsiteProduct `json:"reports"`
	CompleteThrough resource.Time    `json:"completeThrough" doc:"Everything that networks reported before this time is counted."`
	resource.Page
}

type (
	campaignInput   struct{ Body OffsiteCampaignBody }
	campaignOutput  struct{ Body OffsiteCampaign }
	offsitePutInput struct {
		ID   string `path:"campaign_id" format:"uuid"`
		Body OffsiteRows
	}
	productsInput struct {
		ID        string `path:"campaign_id" format:"uuid"`
		VendorID  string `query:"vendor_id" required:"true" minLength:"1" maxLength:"255"`
		StartDate string `query:"start_date" required:"true" format:"date"`
		EndDate   string `query:"end_date" required:"true" format:"date" doc:"Inclusive; at most 366 days."`
		Limit     int    `query:"limit" minimum:"0" maximum:"365" default:"100" doc:"0: an empty page that says whether there is more."`
		NextPage  string `query:"next_page"`
	}
	productsOutput struct{ Body OffsiteProducts }
)

// reported is the only network whose reports are by product.
const reported = "google_ads"

func (s *OffsiteService) createCampaign(ctx context.Context, in *campaignInput) (*campaignOutput, error) {
	b := &in.Body
	if err := knownVendor(ctx, b.VendorID); err != nil {
		return nil, err
	}
	x := store.OffsiteCampaign{VendorID: b.VendorID, Network: b.DSP, Name: b.Name, ExternalID: b.ExternalID}
	var job *store.Job
	if s.connected(b.DSP) {
		job = &store.Job{Type: store.JobCampaign}
	}
	if err := resource.Tenant(ctx).CreateOffsiteCampaign(ctx, &x, job); err != nil {
		return nil, resource.ErrorOf(err)
	}
	a := OffsiteCampaign{
		CampaignID: x.ID.String(), VendorID: x.VendorID, DSP: x.Network, Name: x.Name, ExternalID: x.ExternalID,
		CreatedAt: resource.Time(x.CreatedMillis), UpdatedAt: resource.Time(x.UpdatedMillis),
	}
	if job != nil {
		a.JobID = job.ID.String()
	}
	return &campaignOutput{a}, nil
}

func putReport(ctx context.Context, in *offsitePutInput) (*resource.Done, error) {
	st, id := resource.Tenant(ctx), resource.ParseUUID(in.ID)
	var found []resource.Violation
	rows := make([]store.OffsiteRow, len(in.Body.Rows))
	for i := range in.Body.Rows {
		r := &in.Body.Rows[i]
		if len(r.ProductID) > store.OffsiteProductMax {
			found = append(found, resource.At("string_too_long",
				fmt.Sprintf("must have at most %d bytes in UTF-8", store.OffsiteProductMax), "body", "rows", i, "productId"))
		}
		rows[i] = store.OffsiteRow{
			Date: r.Date, ProductID: r.ProductID, Impressions: r.Impressions, Clicks: r.Clicks, Spent: spent(r.AdSpentDecimal),
			Purchases: r.Purchases, PurchaseAmount: r.PurchaseAmount, PurchaseQuantity: r.Purchases,
		}
		if r.PurchaseQuantity != nil {
			rows[i].PurchaseQuantity = *r.PurchaseQuantity
		}
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	if _, err := st.OffsiteCampaign(ctx, id); err != nil {
		return nil, resource.ErrorOf(err)
	}
	if err := st.PutOffsiteRows(ctx, id, rows); err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &resource.Done{}, nil
}

var decimal = regexp.MustCompile(`^([0-9]{1,14})(?:[.]([0-9]{1,4}))?$`)

// spent reads minor units as ten-thousandths of one. REQUIRES: the kit has checked the pattern.
func spent(text string) int64 {
	m := decimal.FindStringSubmatch(text)
	n, err := strconv.ParseInt(m[1]+(m[2] + "0000")[:4], 10, 64)
	if err != nil {
		panic("18 digits are no number: " + err.Error())
	}
	return n
}

// spentText writes ten-thousandths of a minor unit as minor units.
func spentText(n int64) string {
	text := fmt.Sprintf("%d.%04d", n/spentUnit, n%spentUnit)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

const spentUnit = 10_000

func (s *OffsiteService) getReport(ctx context.Context, in *productsInput) (*productsOutput, error) {
	days, err := resource.Days(in.StartDate, in.EndDate)
	if err != nil {
		return nil, err
	}
	if err := knownVendor(ctx, in.VendorID); err != nil {
		return nil, err
	}
	st, id := resource.Tenant(ctx), resource.ParseUUID(in.ID)
	c, err := st.OffsiteCampaign(ctx, id)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	if c.VendorID != in.VendorID || c.Network != reported {
		return nil, resource.Refuse(apierr.ResourceNotFound, "")
	}
	through := resource.Time(s.Now().UnixMilli())
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "getOffsiteReport", in.ID, in.StartDate, in.EndDate)
	page, end, err := resource.ListOrPeek(cursors, in.NextPage, in.Limit, func(r store.OffsiteRow) string { return r.ProductID },
		func(p store.Page) ([]store.OffsiteRow, bool, error) {
			return st.OffsiteProducts(ctx, id, days, p)
		})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	out := &productsOutput{OffsiteProducts{Reports: make([]OffsiteProduct, len(page)), CompleteThrough: through, Page: end}}
	for i := range page {
		r := &page[i]
		out.Body.Reports[i] = OffsiteProduct{
			ProductID: r.ProductID, Impressions: OffsiteSpend{Total: r.Impressions, AdSpentDecimal: "0"},
			Clicks:    OffsiteSpend{r.Clicks, r.Clicks, (r.Spent + spentUnit/2) / spentUnit, spentText(r.Spent)},
			Purchases: OffsitePurchases{r.PurchaseAmount, r.Purchases, r.PurchaseQuantity, map[string]int64{r.ProductID: r.Purchases}},
		}
	}
	return out, nil
}
