package console_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// A purchase is found by the id that the shop gave it, in the own marketplace, by those who may read auctions.
func TestAPurchaseIsFoundByItsEvent(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	shop := newBrowser(t, env)
	shop.header["Authorization"] = "Bearer " + env.Keys["auction"]
	const id = "order/1 ä"
	longest := strings.Repeat("😀", 256) // As many characters as the id of an event may have, of 4 bytes each.
	event := `{"purchases":[{"id":"` + id + `","occurredAt":"` + env.Now().UTC().Format("2006-01-02T15:04:05Z") +
		`","opaqueUserId":"u","items":[{"productId":"p","quantity":2,"unitPrice":1.5}]}]}`
	if w := shop.send("POST", "/v2/events", event); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	path := func(id, more string) string { return "/console/api/purchases?id=" + url.QueryEscape(id) + more }
	found := ada.must(200, "GET", path(id, ""), "")
	if found["open"] != true || found["attribution"] != "standard" || found["userKnown"] != true || found["hour"] != "2026-03-17T09:00:00Z" {
		t.Errorf("the purchase is %v", found)
	}
	if len(found["credits"].([]any))+len(found["touches"].([]any)) != 0 {
		t.Errorf("the purchase has touches: %v", found)
	}
	ada.must(200, "GET", path(id, "&user=u"), "")
	ada.refusedAs(404, "resource_not_found", "GET", path("order/2", ""), "")
	ada.refusedAs(400, "bad_request", "GET", path("", ""), "")
	ada.refusedAs(404, "resource_not_found", "GET", path(longest, ""), "")
	ada.refusedAs(400, "bad_request", "GET", path(longest+"x", ""), "")
	ada.refusedAs(400, "bad_request", "GET", path(id, "&user="+strings.Repeat("x", 361)), "")
	ada.refusedAs(404, "resource_not_found", "GET", "/console/api/purchases?key="+strings.Repeat("0a", 16), "")
	for _, key := range []string{"0a", strings.Repeat("0a", 17), strings.Repeat("xy", 16), strings.Repeat("0a", 16) + "&id=x"} {
		ada.refusedAs(400, "bad_request", "GET", "/console/api/purchases?key="+key, "")
	}
	if newest := ada.must(200, "GET", "/console/api/purchases/newest", ""); newest["complete"] != true || len(newest["purchases"].([]any)) != 0 {
		t.Errorf("a purchase of which nothing was credited is among the newest: %v", newest)
	}
	newBrowser(t, env).refusedAs(401, "not_signed_in", "GET", path(id, ""), "")
	invited(t, ada, "ann@example.com", "analyst").must(200, "GET", path(id, ""), "")
	ada.must(200, "PUT", "/console/api/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"va","name":"A"}]}`)
	it := ada.must(200, "POST", "/console/api/v1/invitation-service/invitations",
		`{"invites":[{"vendorId":"va","vendorEmail":"vera@example.com","targetUserRole":"vendor_admin"}]}`)["invites"].([]any)[0].(map[string]any)
	_, token, _ := strings.Cut(it["acceptUrl"].(string), "#token=")
	vera := ada.fresh()
	vera.must(200, "POST", "/console/api/invitations/accept", `{"token":"`+token+`","name":"Vera","password":"`+password+`"}`)
	vera.refusedAs(403, "forbidden_role", "GET", path(id, ""), "")
}
