package attack

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// reports makes the node count very many invented products, and sends the requests that cost most to answer: reports of a year of the
// marketplace with its products, forecasts, explained auctions over whole categories. It gives up every second request after hangUpAfter.
type reports struct {
	campaign string
	ids      atomic.Int64
	asked    atomic.Int64
}

const (
	inventedMax   = 310_000 // BOUND: how many product ids are invented in all, as in a security test.
	inventedQuick = 6_000
	itemsPerBody  = 6_000 // Six purchases of 1,000 items are 400 KB.
	hangUpAfter   = 100 * time.Millisecond
)

func (r *reports) Attack(ctx context.Context, e *Env) error {
	events := NewClient(e.Target.Auction, e.Tenant.AuctionKey, e.From)
	defer events.Close()
	several(5, func(worker int) {
		if worker == 0 {
			r.invent(ctx, e, events)
			return
		}
		for pause(ctx, 150*time.Millisecond) {
			r.ask(ctx, e)
		}
	})
	return nil
}

// Prepare creates 2,000 products in five categories, all with bids.
func (r *reports) Prepare(ctx context.Context, e *Env) error {
	if err := makeVendor(ctx, e); err != nil {
		return err
	}
	parts := 4
	if e.Target.Quick {
		parts = 1
	}
	for part := range parts {
		body := productsBody(part*500, 500)
		if _, err := e.API.Need(ctx, "PUT", public+"/catalog-search-service/catalogs/products", []byte(body)); err != nil {
			return err
		}
		if _, err := e.API.Need(ctx, "POST", public+"/campaign-service/campaigns?vendor_id=v1", []byte(campaignBody("Many bids", part*500, 500))); err != nil {
			return err
		}
	}
	id, err := makeCampaign(ctx, e, "")
	r.campaign = id
	return err
}

// invent sends auctions over invented products and purchases of them.
func (r *reports) invent(ctx context.Context, e *Env, events *Client) {
	most := int64(inventedMax)
	if e.Target.Quick {
		most = inventedQuick
	}
	for pause(ctx, 500*time.Millisecond) {
		if r.ids.Load() >= most {
			continue
		}
		from := r.ids.Add(itemsPerBody) - itemsPerBody
		status, _, err := events.Call(ctx, "POST", "/v2/events", []byte(purchases(from, time.Now())))
		e.Tally.answered(status, err)
		e.Tally.Add("ids sent", itemsPerBody)
		status, _, err = events.Call(ctx, "POST", "/v2/auctions", []byte(wideAuction(from)))
		e.Tally.answered(status, err)
	}
}

// purchases is a body of purchases of products that do not exist.
func purchases(from int64, now time.Time) string {
	var b strings.Builder
	b.WriteString(`{"purchases":[`)
	for p := range int64(itemsPerBody / 1_000) {
		if p > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"invented-%d-%d","occurredAt":%q,"opaqueUserId":"u%d","items":[`, from, p, now.UTC().Format("2006-01-02T15:04:05.000Z"), from)
		for i := range int64(1_000) {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"productId":"invented-%d","quantity":1,"unitPrice":1}`, from+p*1_000+i)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`]}`)
	return b.String()
}

// wideAuction is an auction over about as many invented products as an auction may have.
func wideAuction(from int64) string {
	var b strings.Builder
	b.WriteString(`{"auctions":[{"type":"listings","slots":40,"products":{"ids":["p1"`)
	for i := range int64(9_000) {
		fmt.Fprintf(&b, `,"invented-%d"`, from+i)
	}
	b.WriteString(`]}}]}`)
	return b.String()
}

// explainBody is a body of auctions over all five categories.
const explainBody = `{"auctions":[{"type":"listings","slots":40,"category":{"id":"c0"}},{"type":"listings","slots":40,"category":{"id":"c1"}},` +
	`{"type":"listings","slots":40,"category":{"id":"c2"}},{"type":"listings","slots":40,"category":{"id":"c3"}},` +
	`{"type":"listings","slots":40,"category":{"id":"c4"}}]}`

// ask sends one of the expensive requests.
func (r *reports) ask(ctx context.Context, e *Env) {
	n := r.asked.Add(1)
	today := time.Now().UTC()
	year := "start_date=" + today.AddDate(0, 0, -364).Format(time.DateOnly) + "&end_date=" + today.Format(time.DateOnly)
	method, body := "GET", ""
	var path string
	switch n / 2 % 5 { // Each request is sent twice, and given up once.
	case 0:
		path = "/reporting-service/marketplace?purchase_count_by_product=true&" + year
	case 1:
		path = "/reporting-service/marketplace/daily?purchase_count_by_product=true&" + year
	case 2:
		path = "/campaign-service/campaigns/" + r.campaign + "/forecast"
	case 3:
		method, path, body = "POST", "/auctions/explain", explainBody
	default:
		path = "/reporting-service/vendors/v1/daily?" + year
	}
	if n%2 == 0 {
		short, cancel := context.WithTimeout(ctx, hangUpAfter)
		defer cancel()
		ctx = short
	}
	status, _, err := e.API.Call(ctx, method, public+path, []byte(body))
	e.Tally.Add("sent", 1)
	if n%2 == 0 && err != nil {
		e.Tally.Add("hung up", 1)
		return
	}
	e.Tally.answered(status, err)
}
