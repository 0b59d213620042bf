package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// public is the path prefix of the management API.
const public = "/public/v1"

// makeVendor creates the vendors v1 and v2 and ten products of v1 in the marketplace of the attacker. It is idempotent.
func makeVendor(ctx context.Context, e *Env) error {
	const vendors = `{"vendors":[{"id":"v1","name":"One"},{"id":"v2","name":"Two"}]}`
	if _, err := e.API.Need(ctx, "PUT", public+"/catalog-search-service/catalogs/vendors", []byte(vendors)); err != nil {
		return err
	}
	_, err := e.API.Need(ctx, "PUT", public+"/catalog-search-service/catalogs/products", []byte(productsBody(0, 10)))
	return err
}

// productsBody is an upsert of products pN of the vendor v1, in categories c0 to c4.
func productsBody(from, n int) string {
	var all []string
	for i := from; i < from+n; i++ {
		all = append(all, fmt.Sprintf(`{"id":"p%d","name":"Product","vendors":["v1"],"categories":["c%d"],"price":9.5}`, i, i%5))
	}
	return `{"products":[` + strings.Join(all, ",") + `]}`
}

// campaignBody is a campaign with bids on products pN.
func campaignBody(name string, from, n int) string {
	var bids []string
	for i := from; i < from+n; i++ {
		bids = append(bids, fmt.Sprintf(`{"target":{"type":"product","id":"p%d"},"amount":50}`, i))
	}
	return fmt.Sprintf(`{"name":%q,"campaignType":"manual","bids":[%s]}`, name, strings.Join(bids, ","))
}

// makeCampaign creates a campaign of v1 with bids on its first ten products and returns its id. Members are further members of the body.
func makeCampaign(ctx context.Context, e *Env, members string) (string, error) {
	body := "{" + members + campaignBody("Campaign", 0, 10)[1:]
	answer, err := e.API.Need(ctx, "POST", public+"/campaign-service/campaigns?vendor_id=v1", []byte(body))
	if err != nil {
		return "", err
	}
	var made struct{ CampaignID string }
	err = json.Unmarshal(answer, &made)
	return made.CampaignID, err
}
