package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/gavel-ads/gavel/node/delivery"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// WebhookConnector is a connector that posts jobs to a URL that the operator configured.
type WebhookConnector struct {
	URL    string
	Secret string
	Out    *delivery.Client
}

// Send posts the job, signed.
func (w WebhookConnector) Send(ctx context.Context, _ store.Tenant, h JobRequest) error {
	body, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return w.Out.Post(ctx, w.URL, w.Secret, body)
}

// SandboxConnector is a simulated network for demos and tests. It accepts every job, reports it as completed through the same function as a
// connector's report, and invents the numbers of the last seven days for a new campaign's products. The same campaign always gets
// the same numbers.
type SandboxConnector struct {
	Now func() time.Time
}

// productsOf returns the ids of a vendor's first products.
func productsOf(ctx context.Context, t store.Tenant, vendorID string) ([]string, error) {
	all, _, err := t.Products(ctx, store.Page{Limit: sandboxProducts}, nil, vendorID)
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	return ids, err
}

const (
	sandboxDays     = 7
	sandboxProducts = 5
)

// Send completes the job at once.
func (s SandboxConnector) Send(ctx context.Context, t store.Tenant, h JobRequest) error {
	id, err := ids.Parse(h.JobID)
	if err != nil {
		return err
	}
	if h.Campaign != nil {
		if err := s.report(ctx, t, h); err != nil {
			return err
		}
	}
	_, err = ApplyOffsiteReport(ctx, t, id, OffsiteReport{Network: h.DSP, Status: store.JobCompleted})
	return err
}

func (s SandboxConnector) report(ctx context.Context, t store.Tenant, h JobRequest) error {
	campaign, err := ids.Parse(h.Campaign.ID)
	if err != nil {
		return err
	}
	products, err := productsOf(ctx, t, h.VendorID)
	if err != nil || len(products) == 0 {
		return err
	}
	var rows []store.OffsiteRow
	for day := range sandboxDays {
		date := s.Now().In(t.Location()).AddDate(0, 0, -day).Format(time.DateOnly)
		for _, product := range products {
			rows = append(rows, sandboxRow(h.Campaign.ID, product, date))
		}
	}
	return t.PutOffsiteRows(ctx, campaign, rows)
}

// sandboxRow invents the numbers of a product on a day, from a hash.
func sandboxRow(campaign, product, date string) store.OffsiteRow {
	sum := sha256.Sum256([]byte(campaign + "\n" + product + "\n" + date))
	draw := func(i, most int) int64 { return int64(binary.BigEndian.Uint16(sum[2*i:])) % int64(most) }
	r := store.OffsiteRow{Date: date, ProductID: product, Impressions: 500 + draw(0, 500)}
	r.Clicks = r.Impressions * (1 + draw(1, 4)) / 100
	r.Spent = r.Clicks * (100_000 + draw(2, 200_000))
	r.Purchases = r.Clicks / (5 + draw(3, 10))
	r.PurchaseQuantity, r.PurchaseAmount = r.Purchases, r.Purchases*(1000+draw(4, 4000))
	return r
}
