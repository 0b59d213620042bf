package manage_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestMarketplacesMadeAtOnce: creations at the same moment create different marketplaces, each with keys for it alone.
func TestMarketplacesMadeAtOnce(t *testing.T) {
	const path, shops = "/public/v1/marketplace-service/marketplaces", 8
	w := managetest.New(t)
	made := make([]struct{ MarketplaceID, ManagementKey string }, shops)
	var all sync.WaitGroup
	for i := range shops {
		all.Go(func() {
			for try := 0; t.Context().Err() == nil; try++ {
				rec := call(w, "POST", path, "management", `{"name":"shop `+strconv.Itoa(i)+`","currencyCode":"EUR"}`)
				switch rec.Code {
				case 201:
					if err := json.Unmarshal(rec.Body.Bytes(), &made[i]); err != nil {
						t.Error(err)
					}
					return
				case 503: // Another creation runs.
					time.Sleep(time.Millisecond)
				default:
					t.Errorf("shop %d, try %d: %d %s", i, try, rec.Code, rec.Body)
					return
				}
			}
		})
	}
	all.Wait()
	if n := strings.Count(call(w, "GET", path, "management", "").Body.String(), `"marketplaceId"`); n != 3+shops {
		t.Errorf("there are %d marketplaces", n)
	}
	const catalog = "/public/v1/catalog-search-service/catalogs/vendors"
	seen := map[string]bool{}
	for i, m := range made {
		seen[m.MarketplaceID] = true
		key := "Bearer " + m.ManagementKey
		if rec := call(w, "PUT", catalog, key, `{"vendors":[{"id":"v`+strconv.Itoa(i)+`","name":"V"}]}`); rec.Code != 200 {
			t.Errorf("shop %d: %d %s", i, rec.Code, rec.Body)
		}
	}
	for i, m := range made {
		if body := call(w, "GET", catalog, "Bearer "+m.ManagementKey, "").Body.String(); strings.Count(body, `"id"`) != 1 || !strings.Contains(body, `"v`+strconv.Itoa(i)+`"`) {
			t.Errorf("shop %d sees %s", i, body)
		}
		if body := call(w, "GET", path+"/"+m.MarketplaceID, "management", "").Body.String(); !strings.Contains(body, `"shop `+strconv.Itoa(i)+`"`) {
			t.Errorf("shop %d is %s", i, body)
		}
	}
	if len(seen) != shops {
		t.Errorf("%d marketplaces have ids of their own", len(seen))
	}
}

// TestASlowCreatorLeavesItsNumber: a creation that claimed a number and never ended does not stop others for ever.
func TestASlowCreatorLeavesItsNumber(t *testing.T) {
	const path = "/public/v1/marketplace-service/marketplaces"
	w := managetest.New(t)
	w.FailWritesAfter(1) // The claim is written, the marketplace is not.
	if rec := call(w, "POST", path, "management", `{"name":"lost","currencyCode":"EUR"}`); rec.Code != 503 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	w.FailWrites(false)
	if rec := call(w, "POST", path, "management", `{"name":"early","currencyCode":"EUR"}`); rec.Code != 503 {
		t.Errorf("while the other may still come: %d %s", rec.Code, rec.Body)
	}
	w.Advance(100 * time.Second)
	if rec := call(w, "POST", path, "management", `{"name":"late","currencyCode":"EUR"}`); rec.Code != 201 {
		t.Errorf("later: %d %s", rec.Code, rec.Body)
	}
}
