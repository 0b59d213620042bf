package manage_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// quota is a limit and the request that reaches it.
type quota struct {
	name   string
	limits store.Limits
	key    string
	// add requests the nth item, and free deletes the item that its answer names.
	add  func(w *managetest.Environment, key, vendor string, n int) *httptest.ResponseRecorder
	free func(w *managetest.Environment, key string, answer map[string]any, vendor string, n int) *httptest.ResponseRecorder
	// shared is true if vendors share the limit.
	shared bool
	says   string
}

const (
	oneBid    = `"bids":[{"target":{"type":"product","id":"p"},"amount":5}]`
	base      = "/public/v1"
	campaigns = base + "/campaign-service/campaigns"
)

// quotas are all limits, each over all operations that add to it.
func quotas() []quota {
	endCampaign := func(w *managetest.Environment, key string, answer map[string]any, _ string, _ int) *httptest.ResponseRecorder {
		id := answer["campaignId"]
		if id == nil {
			id = answer["id"]
		}
		return call(w, "DELETE", fmt.Sprint(campaigns, "/", id), key, "")
	}
	post := func(path, body string) func(*managetest.Environment, string, string, int) *httptest.ResponseRecorder {
		return func(w *managetest.Environment, key, vendor string, n int) *httptest.ResponseRecorder {
			fill := strings.NewReplacer("$v", vendor, "$n", fmt.Sprint(n))
			method, at, _ := strings.Cut(fill.Replace(path), " ")
			return call(w, method, base+at, key, fill.Replace(body))
		}
	}
	remove := func(path, member string) func(*managetest.Environment, string, map[string]any, string, int) *httptest.ResponseRecorder {
		return func(w *managetest.Environment, key string, answer map[string]any, vendor string, n int) *httptest.ResponseRecorder {
			fill := strings.NewReplacer("$v", vendor, "$n", fmt.Sprint(n), "$id", fmt.Sprint(answer[member]))
			method, at, _ := strings.Cut(fill.Replace(path), " ")
			at, body, _ := strings.Cut(at, " ")
			return call(w, method, base+at, key, body)
		}
	}
	var all []quota
	for name, create := range map[string]func(*managetest.Environment, string, string, int) *httptest.ResponseRecorder{
		"campaign":        post("POST /campaign-service/campaigns?vendor_id=$v", `{"name":"C","campaignType":"manual",`+oneBid+`}`),
		"agency campaign": post("POST /agency/campaigns?vendor_id=$v", `{"name":"C","budget":9,"targetRoas":2,"startDate":"2026-03-17T09:30:00Z","targets":[{"type":"product","id":"p"}]}`),
	} {
		all = append(all,
			quota{name + " of a vendor", store.Limits{VendorCampaigns: 2}, "management", create, endCampaign, false, "a vendor has at most 2 campaigns"},
			quota{name + " of a marketplace", store.Limits{Campaigns: 2}, "management", create, endCampaign, true, "a marketplace has at most 2 campaigns"},
			quota{"bid of a vendor with " + name, store.Limits{VendorBids: 2}, "management", create, endCampaign, false, "a vendor has at most 2 bids"},
			quota{"bid of a marketplace with " + name, store.Limits{Bids: 2}, "management", create, endCampaign, true, "a marketplace has at most 2 bids"},
		)
	}
	return append(all,
		quota{
			"product",
			store.Limits{Products: 2},
			"management", post("PUT /catalog-search-service/catalogs/products", `{"products":[{"id":"$v-$n","name":"N","vendors":["$v"],"categories":[]}]}`),
			remove(`DELETE /catalog-search-service/catalogs/products {"ids":["$v-$n"]}`, ""), true, "a marketplace has at most 2 products",
		},
		quota{
			"asset",
			store.Limits{Assets: 2},
			"management", post("POST /assets/asset?vendor_id=$v", `{"name":"A","externalUrl":"https://example.com/a.png"}`),
			remove("DELETE /assets/asset/$id", "id"), true, "a marketplace has at most 2 assets",
		},
		quota{
			"segment",
			store.Limits{Segments: 2},
			"management", post("PUT /segment-service/segments", `{"segments":[{"id":"$v-$n","name":"S"}]}`),
			remove("DELETE /segment-service/segments/$v-$n", ""), true, "a marketplace has at most 2 segments",
		},
		quota{
			"key",
			store.Limits{Keys: 2},
			"management", post("POST /key-service/keys", `{"kind":"management","name":"K"}`),
			remove("DELETE /key-service/keys/$id", "keyId"), true, "a marketplace has at most 2 active keys of a kind",
		},
	)
}

func answerOf(rec *httptest.ResponseRecorder) (answer map[string]any) {
	_ = json.Unmarshal(rec.Body.Bytes(), &answer) // An answer without an object has no members.
	return answer
}

// TestQuotas: at a limit the next one is refused with 409 and the number, another vendor and another tenant are not
// affected unless they share the limit, and after a deletion one more can be created.
func TestQuotas(t *testing.T) {
	for _, q := range quotas() {
		t.Run(q.name, func(t *testing.T) {
			w := managetest.New(t)
			for _, key := range []string{"management", "other"} {
				for path, body := range map[string]string{
					"/vendors":  `{"vendors":[{"id":"v","name":"V"},{"id":"u","name":"U"}]}`,
					"/products": `{"products":[{"id":"p","name":"P","vendors":["v","u"],"categories":[]}]}`,
				} {
					if q.limits.Products > 0 && path == "/products" {
						continue
					}
					if rec := call(w, "PUT", catalogs+path, key, body); rec.Code != 200 {
						t.Fatalf("%d %s", rec.Code, rec.Body)
					}
				}
			}
			w.Store.Limits = q.limits
			made := 0
			if q.limits.Keys > 0 {
				made = 1 // The environment's own.
			}
			var last map[string]any
			n := 0
			for ; made < 2; made++ {
				n++
				rec := q.add(w, q.key, "v", n)
				if last = answerOf(rec); rec.Code >= 300 {
					t.Fatalf("number %d: %d %s", n, rec.Code, rec.Body)
				}
			}
			refused := func(vendor string) {
				t.Helper()
				rec := q.add(w, q.key, vendor, 100)
				if rec.Code != 409 || errCode(t, rec) != "limit_exceeded" || !strings.Contains(rec.Body.String(), q.says) {
					t.Errorf("beyond the limit: %d %s, want limit_exceeded and %q", rec.Code, rec.Body, q.says)
				}
			}
			refused("v")
			if rec := q.add(w, q.key, "u", 200); (rec.Code < 300) == q.shared {
				t.Errorf("another vendor: %d %s", rec.Code, rec.Body)
			}
			if rec := q.add(w, "other", "v", 300); rec.Code >= 300 {
				t.Errorf("another tenant: %d %s", rec.Code, rec.Body)
			}
			if rec := q.free(w, q.key, last, "v", n); rec.Code >= 300 {
				t.Fatalf("deleting: %d %s", rec.Code, rec.Body)
			}
			if rec := q.add(w, q.key, "v", 400); rec.Code >= 300 {
				t.Errorf("after one was deleted: %d %s", rec.Code, rec.Body)
			}
			refused("v")
		})
	}
}

// TestQuotasOfTheDialog: what a vendor's page creates counts like everything else.
func TestQuotasOfTheDialog(t *testing.T) {
	for path, body := range map[string]string{
		"/modal-service/vendors/v/campaigns":       `{"name":"C","budget":{"amount":9},` + oneBid + `}`,
		"/modal-service/vendors/v/promote-my-shop": `{"budgetAmount":9}`,
	} {
		for _, limits := range []store.Limits{{VendorCampaigns: 1}, {VendorBids: 1}, {Campaigns: 1}, {Bids: 1}} {
			w := managetest.New(t)
			seller(t, w)
			w.Keys["page"] = w.ModalToken("management", "v")
			w.Store.Limits = limits
			first := call(w, "POST", campaigns+"?vendor_id=v", "management", `{"name":"C","campaignType":"manual",`+oneBid+`}`)
			if first.Code != 201 {
				t.Fatalf("%d %s", first.Code, first.Body)
			}
			if rec := call(w, "POST", base+path, "page", body); rec.Code != 409 || errCode(t, rec) != "limit_exceeded" {
				t.Errorf("%s at %+v: %d %s", path, limits, rec.Code, rec.Body)
			}
			if rec := call(w, "DELETE", fmt.Sprint(campaigns, "/", answerOf(first)["campaignId"]), "management", ""); rec.Code != 204 {
				t.Fatalf("%d %s", rec.Code, rec.Body)
			}
			if rec := call(w, "POST", base+path, "page", body); rec.Code != 200 {
				t.Errorf("%s below %+v: %d %s", path, limits, rec.Code, rec.Body)
			}
		}
	}
}

// TestQuotasOfLists: a list is accepted as a whole or not at all; items that it replaces are not counted again.
func TestQuotasOfLists(t *testing.T) {
	w := managetest.New(t)
	seller(t, w)
	w.Store.Limits = store.Limits{Products: 3, VendorBids: 3, Segments: 2, Webhooks: 1}
	product := func(id string) string { return `{"id":"` + id + `","name":"P","vendors":["v"],"categories":[]}` }
	bid := `{"target":{"type":"product","id":"p"},"amount":5}`
	first := call(w, "POST", campaigns+"?vendor_id=v", "management", `{"name":"C","campaignType":"manual","bids":[`+bid+`]}`)
	bids := fmt.Sprint("/campaign-service/campaigns/", answerOf(first)["campaignId"], "/bids")
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"PUT", "/catalog-search-service/catalogs/products", `{"products":[` + product("a") + `,` + product("b") + `,` + product("c") + `]}`, 409},
		{"PUT", "/catalog-search-service/catalogs/products", `{"products":[` + product("a") + `,` + product("b") + `]}`, 200},
		{"PUT", "/catalog-search-service/catalogs/products", `{"products":[` + product("p") + `,` + product("a") + `,` + product("b") + `]}`, 200},
		{"PUT", "/catalog-search-service/catalogs/products", `{"products":[` + product("a") + `,` + product("d") + `]}`, 409},
		{"POST", bids, `{"bids":[` + bid + `,` + bid + `,` + bid + `]}`, 409},
		{"POST", bids, `{"bids":[` + bid + `,` + bid + `]}`, 201},
		{"POST", bids, `{"bids":[` + bid + `]}`, 409},
		{"PUT", "/segment-service/segments", `{"segments":[{"id":"a","name":"A"},{"id":"b","name":"B"},{"id":"c","name":"C"}]}`, 409},
		{"PUT", "/segment-service/segments", `{"segments":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}`, 200},
		{"PUT", "/segment-service/segments", `{"segments":[{"id":"b","name":"B again"}]}`, 200},
		{"POST", "/webhooks/webhooks", `{"url":"https://example.com/","channel":"asset:status"}`, 201},
		{"POST", "/webhooks/webhooks", `{"url":"https://example.com/","channel":"job:finish"}`, 409},
	} {
		rec := call(w, c.method, base+c.path, "management", c.body)
		if rec.Code != c.status || c.status == 409 && errCode(t, rec) != "limit_exceeded" {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, rec.Code, rec.Body, c.status)
		}
	}
}

// TestQuotasHoldForRequestsAtTheSameMoment: simultaneous requests of one node cannot exceed a limit together.
func TestQuotasHoldForRequestsAtTheSameMoment(t *testing.T) {
	w := managetest.New(t)
	seller(t, w)
	w.Store.Limits = store.Limits{VendorCampaigns: 5}
	var all sync.WaitGroup
	var made atomic.Int64
	for range 40 {
		all.Go(func() {
			if rec := call(w, "POST", campaigns+"?vendor_id=v", "management", `{"name":"C","campaignType":"manual",`+oneBid+`}`); rec.Code == 201 {
				made.Add(1)
			}
		})
	}
	all.Wait()
	if made.Load() != 5 {
		t.Errorf("%d campaigns were made, the limit is 5", made.Load())
	}
}
