package manage_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestVendorTokenStaysWithItsVendor: with the token of one vendor nothing of another vendor can be read, changed or created, and no
// token requested, in whatever spelling the other vendor is named.
func TestVendorTokenStaysWithItsVendor(t *testing.T) {
	w, _ := vendorEnvironment(t)
	const base = "/public/v1/modal-service/"
	rec := call(w, "POST", base+"vendors/vb/campaigns", "another vendor",
		`{"name":"secret of vb","bids":[{"target":{"type":"product","id":"pb"}}],"budget":{"amount":100,"type":"daily"},"startDate":"2026-03-17T10:00:00Z"}`)
	var made struct{ CampaignID string }
	if err := json.Unmarshal(rec.Body.Bytes(), &made); err != nil || rec.Code > 299 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	shop := `{"budgetAmount":100}`
	campaign := `{"name":"C","bids":[{"target":{"type":"product","id":"pa"}}],"budget":{"amount":100,"type":"daily"},"startDate":"2026-03-17T10:00:00Z"}`
	for _, c := range []struct{ method, path, body string }{
		{"GET", "auth/vendors/vb", ""},
		{"GET", "auth/vendors/va", ""}, // Not even for its own vendor, or a token could be extended for ever.
		{"GET", "vendors/vb/default-budget", ""},
		{"POST", "vendors/vb/products", `["pb"]`},
		{"POST", "vendors/vb/promote-my-shop", shop},
		{"POST", "vendors/vb/campaigns", campaign},
		{"GET", "vendors/vb/campaigns/" + made.CampaignID, ""},
		{"PATCH", "vendors/vb/campaigns/" + made.CampaignID, `{"name":"mine"}`},
		{"DELETE", "vendors/vb/campaigns/" + made.CampaignID, ""},
		{"GET", "vendors/marketplace-details?vendor_id=vb", ""},
		{"GET", "vendors/marketplace-details?vendor_id=va&vendor%5Fid=%76b", ""},
		{"GET", "vendors/vendor-campaign?vendorId=vb", ""},
		{"GET", "vendors/va/default-budget?vendor_ids=va,vb", ""},
		{"GET", "vendors/marketplace-details?vendor_id=vb;x", ""},
		{"POST", "vendors/va/promote-my-shop", `{"budgetAmount":100,"vendorId":"vb"}`},
		{"POST", "vendors/va/promote-my-shop", `{"budgetAmount":100,"vendor\u0049d":"v\u0062"}`},
		{"POST", "vendors/va/promote-my-shop", `{"budgetAmount":100,"x":[{"vendor_ids":["va","vb"]}]}`},
		{"POST", "vendors/va/promote-my-shop", `{"budgetAmount":100,"vendorId":"vb","vendorId":"va"}`},
		{"POST", "vendors/va/campaigns", strings.Replace(campaign, "{", `{"vendorId":{"id":"va"},`, 1)},
	} {
		path, query, _ := strings.Cut(base+c.path, "?")
		for _, s := range append(spellings(path), spelling{"plain", path, samePath}) {
			rec := call(w, c.method, s.path+"?"+query, "own vendor", c.body)
			if s.as == samePath && rec.Code != 403 || rec.Code < 400 || strings.Contains(rec.Body.String(), "secret of vb") || strings.Contains(rec.Body.String(), "authToken") {
				t.Errorf("%s %s %s (%s): %d %s, want 403", c.method, c.path, c.body, s.path, rec.Code, rec.Body)
			}
		}
	}
	for _, path := range []string{"vendors/va/campaigns/", "vendors/v%61/campaigns/", "reporting/campaigns/"} {
		rec := call(w, "GET", base+path+made.CampaignID+"?start_date=2026-03-01&end_date=2026-03-02", "own vendor", "")
		if rec.Code != 404 {
			t.Errorf("GET %s of another vendor's campaign: %d %s", path, rec.Code, rec.Body)
		}
	}
	if rec := call(w, "GET", base+"vendors/vb/campaigns/"+made.CampaignID, "another vendor", ""); !strings.Contains(rec.Body.String(), "secret of vb") {
		t.Errorf("the campaign was changed: %d %s", rec.Code, rec.Body)
	}
}

// TestVendorTokenNamesItsOwnVendor: requests that name the vendor of the token are served, in every spelling.
func TestVendorTokenNamesItsOwnVendor(t *testing.T) {
	w, _ := vendorEnvironment(t)
	for _, target := range []string{
		"vendors/va/default-budget", "vendors/%76%61/default-budget", "vendors/va/default-budget?vendor_id=va&vendorId=",
		"vendors/vendor-campaign?vendor_ids=v%61",
	} {
		if rec := call(w, "GET", "/public/v1/modal-service/"+target, "own vendor", ""); rec.Code != 200 {
			t.Errorf("GET %s: %d %s", target, rec.Code, rec.Body)
		}
	}
	for i, body := range []string{`["pa"]`, ` [ "vb" ] `, `["\u0070a"]`} {
		if rec := call(w, "POST", "/public/v1/modal-service/vendors/va/products", "own vendor", body); rec.Code != 200 {
			t.Errorf("%d: %d %s", i, rec.Code, rec.Body)
		}
	}
	const own = `{"budgetAmount":100,"vendorId":"va","vendors":["va",null],"x":{"vendor_id":null}}`
	if rec := call(w, "POST", "/public/v1/modal-service/vendors/va/promote-my-shop", "own vendor", own); rec.Code != 200 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	deep := strings.Repeat("[", 100_000)
	if rec := call(w, "POST", "/public/v1/modal-service/vendors/va/products", "own vendor", deep); rec.Code < 400 || rec.Code == 403 {
		t.Error(fmt.Sprint(rec.Code, " for a body that is nested too deep"))
	}
}
