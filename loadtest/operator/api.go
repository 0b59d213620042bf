package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// api is a client of one management listener.
type api struct {
	base, key string
	client    *http.Client
}

func newAPI(base, key string, connections int) *api {
	return &api{base, key, &http.Client{
		Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections},
	}}
}

// call sends a request and decodes a 2xx answer into out unless it is nil. It repeats nothing: any other answer is an error and ends the
// measurement.
func (a *api) call(ctx context.Context, method, path string, body []byte, out any) error {
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+a.key)
	r.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(r)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // It was read to its end, or the error says why not.
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s answered %d: %.300s", method, path, resp.StatusCode, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// shop makes a vendor with money, products, and a campaign with a bid on each product; it returns the campaign and its bids.
func (a *api) shop(ctx context.Context, vendor string, products []string, amount int) (campaign string, bids []string, err error) {
	const public = "/public/v1"
	steps := []struct{ method, path, body string }{
		{"PUT", "/catalog-search-service/catalogs/vendors", fmt.Sprintf(`{"vendors":[{"id":%q,"name":"Vendor"}]}`, vendor)},
		{"PUT", "/catalog-search-service/catalogs/products", string(productsBody(vendor, products, 0))},
		{"POST", "/billing-service/vendors/" + vendor + "/balance", `{"balance":1000000}`},
	}
	for _, s := range steps {
		if err := a.call(ctx, s.method, public+s.path, []byte(s.body), nil); err != nil {
			return "", nil, err
		}
	}
	var items bytes.Buffer
	for i, id := range products {
		if i > 0 {
			items.WriteByte(',')
		}
		fmt.Fprintf(&items, `{"target":{"type":"product","id":%q},"amount":%d}`, id, amount)
	}
	var made struct{ CampaignID string }
	body := fmt.Sprintf(`{"name":"Campaign","campaignType":"manual","bids":[%s]}`, items.Bytes())
	if err := a.call(ctx, "POST", public+"/campaign-service/campaigns?vendor_id="+vendor, []byte(body), &made); err != nil {
		return "", nil, err
	}
	for more := true; more; {
		var page struct {
			Bids    []struct{ BidID string }
			HasMore bool
		}
		path := fmt.Sprintf("%s/campaign-service/campaigns/%s/bids?offset=%d", public, made.CampaignID, len(bids))
		if err := a.call(ctx, "GET", path, nil, &page); err != nil {
			return "", nil, err
		}
		for _, b := range page.Bids {
			bids = append(bids, b.BidID)
		}
		more = page.HasMore
	}
	return made.CampaignID, bids, nil
}

// productsBody is the body of a PUT of products. The round makes it differ from the one before.
func productsBody(vendor string, ids []string, round int) []byte {
	b := []byte(`{"products":[`)
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"id":%q,"name":"Product %d","vendors":[%q],"categories":["c%d"],"price":%d.5,"metadata":{"colour":"c%d"}}`,
			id, round, vendor, i%50, 1+round%90, (i+round)%7)
	}
	return append(b, `]}`...)
}
