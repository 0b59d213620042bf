package manage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

const catalogs = "/public/v1/catalog-search-service/catalogs"

// send calls an operation and returns its answer.
func send(w *managetest.Environment, method, path, body string) (status int, answer map[string]any) {
	return sendTo(w.Server, w, method, path, body)
}

// sendTo calls an operation of one of the nodes.
func sendTo(node http.Handler, w *managetest.Environment, method, path, body string) (status int, answer map[string]any) {
	r := httptest.NewRequest(method, "/public/v1"+strings.TrimPrefix(path, "/public/v1"), strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	rec := httptest.NewRecorder()
	node.ServeHTTP(rec, r)
	_ = json.Unmarshal(rec.Body.Bytes(), &answer) // A 204 has none.
	return rec.Code, answer
}

// TestChangesAtTheSameMomentBothHold: two changes of different members at the same moment are both answered 200 and both take effect.
func TestChangesAtTheSameMomentBothHold(t *testing.T) {
	w := managetest.New(t)
	send(w, http.MethodPut, catalogs+"/vendors", `{"vendors":[{"id":"v","name":"V"}]}`)
	send(w, http.MethodPut, catalogs+"/products", `{"products":[{"id":"p","name":"P","vendors":["v"],"categories":[]}]}`)
	status, created := send(w, http.MethodPost, "/campaign-service/campaigns?vendor_id=v",
		`{"name":"c","campaignType":"manual","bids":[{"target":{"type":"product","id":"p"},"amount":1}]}`)
	if status != http.StatusCreated {
		t.Fatal(created)
	}
	bids := fmt.Sprint("/campaign-service/campaigns/", created["campaignId"], "/bids")
	bid := func() map[string]any {
		_, list := send(w, http.MethodGet, bids, "")
		return list["bids"].([]any)[0].(map[string]any)
	}
	path := fmt.Sprint(bids, "/", bid()["bidId"])
	for i := range 100 {
		n := i + 2
		var all sync.WaitGroup
		for path, bodies := range map[string][]string{
			path:                   {`{"amount":%d}`, `{"location":"%d"}`},
			catalogs + "/products": {`{"products":[{"id":"p","price":%d}]}`, `{"products":[{"id":"p","name":"%d"}]}`},
		} {
			for _, body := range bodies {
				all.Go(func() {
					if status, answer := send(w, http.MethodPatch, path, fmt.Sprintf(body, n)); status != http.StatusOK {
						t.Errorf("%s: %d %v", path, status, answer)
					}
				})
			}
		}
		all.Wait()
		_, product := send(w, http.MethodGet, catalogs+"/products/p", "")
		got := fmt.Sprint(bid()["amount"], bid()["location"], product["price"], product["name"])
		if want := fmt.Sprint(n, n, n, n); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Fatalf("round %d: %s, want %s", i, got, want)
		}
	}
	for _, e := range auditLog(t, w) { // It includes changes that were checked again and proposed more than once.
		if e.Status/100 != 2 {
			t.Errorf("the entry of %s %s says %d", e.Method, e.Path, e.Status)
		}
	}
}
