package manage_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestForeignVendors asks for every object with the id of another vendor than its own, and for every list with that of no vendor:
// both are answered 404, and the same request with the right vendor is not.
func TestForeignVendors(t *testing.T) {
	w := managetest.New(t)
	ids := ownedOfVendor(t, w)
	var all []operation
	for _, o := range operations(t) {
		if o.op.Parameters.GetByInAndName("query", "vendor_id") != nil && !o.modal() {
			all = append(all, o)
		}
	}
	if len(all) < 40 {
		t.Fatalf("only %d operations take a vendor", len(all))
	}
	slices.SortFunc(all, func(a, b operation) int { // What deletes comes last, and a campaign after what is in it.
		return cmp.Or(cmp.Compare(deletes(&a), deletes(&b)), -cmp.Compare(len(a.path), len(b.path)))
	})
	send := func(o *operation, vendor string) int {
		path := o.path
		for name, id := range ids {
			path = strings.ReplaceAll(path, "{"+name+"}", id)
		}
		for _, area := range agencyAreas {
			if strings.Contains(path, "/"+area+"/") {
				path = strings.ReplaceAll(path, ids["campaign_id"], ids[area+"_id"])
			}
		}
		_, query, _ := strings.Cut(o.target(), "?")
		values := []string{"vendor_id=" + vendor}
		for pair := range strings.SplitSeq(query, "&") {
			if pair != "" && !strings.HasPrefix(pair, "vendor_id=") {
				values = append(values, pair)
			}
		}
		body := ""
		if o.body() != nil {
			text, err := json.Marshal(o.op.RequestBody.Value.Content["application/json"].Example)
			if err != nil {
				t.Fatal(err)
			}
			body = string(text)
		}
		return call(w, o.method, path+"?"+strings.Join(values, "&"), "management", body).Code
	}
	for _, o := range all {
		foreign := "other"
		if !strings.Contains(o.path, "{") {
			foreign = "nobody"
		}
		if code := send(&o, foreign); code != http.StatusNotFound {
			t.Errorf("%s with the vendor %s: %d", o.id, foreign, code)
		}
	}
	for _, o := range all {
		if code := send(&o, "mine"); code == http.StatusNotFound && o.id != "getOffsiteReport" { // There is no offsite campaign.
			t.Errorf("%s with its own vendor: %d", o.id, code)
		}
	}
}

// agencyAreas are the names under which the campaigns of agencies are served.
var agencyAreas = []string{"agency", "toppie"}

func deletes(o *operation) int {
	if o.method == http.MethodDelete {
		return 1
	}
	return 0
}

// modal reports whether the operation is the dialog's, whose tokens name the vendor.
func (o *operation) modal() bool { return (*o.op.Security)[0]["modal"] != nil }

// ownedOfVendor creates the objects of owned, and those that are only inside of them, for the vendor "mine", and a vendor "other".
func ownedOfVendor(t *testing.T, w *managetest.Environment) map[string]string {
	t.Helper()
	ids := owned(t, w)
	made := func(path, body, member string) string {
		t.Helper()
		return create(t, w, "POST", path, body, member)
	}
	create(t, w, "PUT", "catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"other","name":"O"}]}`, "")
	campaign := "campaign-service/campaigns/" + ids["campaign_id"]
	ids["bid_id"] = made(campaign+"/bids", `{"bids":[{"target":{"type":"product","id":"mine"},"amount":2}]}`, "bids.0.bidId")
	ids["restriction_id"] = made(campaign+"/restrictions", `{"restrictionTypeId":1,"limit":3}`, "id")
	for _, area := range agencyAreas {
		ids[area+"_id"] = made(area+"/campaigns?vendor_id=mine",
			`{"name":"A","budget":500,"targets":[{"type":"product","id":"mine"}],"targetRoas":3,"startDate":"2026-04-01T00:00:00Z"}`, "id")
	}
	return ids
}
