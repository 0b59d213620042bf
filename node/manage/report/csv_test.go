package report_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestCSVIsTheReport: the CSV of all pages, reached by the Link headers, has the numbers that JSON has, and they add up to the sum.
func TestCSVIsTheReport(t *testing.T) {
	w := managetest.New(t)
	const span = "?start_date=2026-03-10&end_date=2026-03-17"
	for i := range 7 {
		body := fmt.Sprintf(`{"purchases": [{"id": "b%d", "occurredAt": "2026-03-1%dT10:00:00Z", "opaqueUserId": "u", "items":
			[{"productId": "-p", "quantity": %d, "unitPrice": 0.335}]}], "pageviews": []}`, i, i, i+1)
		if rec := send(w, http.MethodPost, "/v2/events", "auction", body); rec.Code != http.StatusOK {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	const daily = "/public/v1/reporting-service/marketplace/daily"
	var days struct {
		Reports []struct {
			Date      string
			Purchases struct{ Amount, Count, Quantity int64 }
		}
	}
	get(t, w, daily+span, &days)
	var sum struct {
		Purchases struct{ Amount, Count, Quantity int64 }
	}
	get(t, w, "/public/v1/reporting-service/marketplace"+span, &sum)

	rows := pages(t, w, daily+span+"&limit=3&format=csv", 3)
	if len(rows) != 7 || len(days.Reports) != 7 || sum.Purchases.Count != 7 || sum.Purchases.Quantity != 28 {
		t.Fatalf("%d rows of CSV, %d of JSON, sum %+v", len(rows), len(days.Reports), sum)
	}
	var count, quantity int64
	for i, row := range rows {
		day := &days.Reports[i]
		if row["date"] != day.Date || number(t, row["purchases.amount"]) != day.Purchases.Amount {
			t.Errorf("CSV %v, JSON %+v", row, day)
		}
		count += number(t, row["purchases.count"])
		quantity += number(t, row["purchases.quantity"])
	}
	if count != sum.Purchases.Count || quantity != sum.Purchases.Quantity {
		t.Errorf("the rows add up to %d purchases of %d pieces, the sum is %+v", count, quantity, sum)
	}
	rec := send(w, http.MethodGet, daily+span+"&limit=3&format=parquet", "management", "")
	if h := rec.Header(); rec.Code != http.StatusOK || h.Get("Content-Type") != "application/vnd.apache.parquet" ||
		!strings.Contains(h.Get("Link"), "format=parquet") || h.Get("X-Gavel-Complete-Through") == "" || !strings.HasPrefix(rec.Body.String(), "PAR1") {
		t.Errorf("as Parquet: %d %v", rec.Code, h)
	}
	if total := pages(t, w, "/public/v1/reporting-service/marketplace"+span+"&format=csv", 1); len(total) != 1 ||
		number(t, total[0]["purchases.amount"]) != sum.Purchases.Amount {
		t.Errorf("CSV %v, JSON %+v", total, sum)
	}
}

// pages returns the rows of all pages by their columns, and checks how many pages there are.
func pages(t *testing.T, w *managetest.Environment, address string, want int) []map[string]string {
	t.Helper()
	var all []map[string]string
	n := 0
	for address != "" {
		rec := send(w, http.MethodGet, address, "management", "")
		lines, err := csv.NewReader(rec.Body).ReadAll()
		if rec.Code != http.StatusOK || err != nil || rec.Header().Get("X-Gavel-Complete-Through") == "" {
			t.Fatalf("%s: %d, %v, %v", address, rec.Code, rec.Header(), err)
		}
		for _, line := range lines[1:] {
			row := map[string]string{}
			for i, name := range lines[0] {
				row[name] = line[i]
			}
			all = append(all, row)
		}
		address = strings.TrimSuffix(strings.TrimPrefix(rec.Header().Get("Link"), "<"), `>; rel="next"`)
		if n++; n > want {
			t.Fatalf("page %d, want %d; next: %q", n, want, address)
		}
	}
	if n != want {
		t.Errorf("%d pages, want %d", n, want)
	}
	return all
}

func send(w *managetest.Environment, method, address, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, address, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.Keys[key])
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

func get(t *testing.T, w *managetest.Environment, address string, into any) {
	t.Helper()
	rec := send(w, http.MethodGet, address, "management", "")
	if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil || rec.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", address, rec.Code, rec.Body)
	}
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}

// Reports of one row, whose members have other types than counters, are CSV and Parquet as well.
func TestEveryReportOfACampaignIsATable(t *testing.T) {
	w := managetest.New(t)
	for _, r := range []struct{ method, path, body string }{
		{http.MethodPut, "/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"Acme"}]}`},
		{http.MethodPut, "/catalog-search-service/catalogs/products", `{"products":[{"id":"p1","name":"Kettle","vendors":["v1"],"categories":[],"price":1}]}`},
	} {
		if rec := send(w, r.method, "/public/v1"+r.path, "management", r.body); rec.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", r.path, rec.Code, rec.Body)
		}
	}
	rec := send(w, http.MethodPost, "/public/v1/campaign-service/campaigns?vendor_id=v1", "management",
		`{"name":"Spring","campaignType":"manual","holdoutPercent":10,"bids":[{"target":{"type":"product","id":"p1"},"amount":35}]}`)
	var campaign struct{ CampaignID string }
	if err := json.Unmarshal(rec.Body.Bytes(), &campaign); err != nil || campaign.CampaignID == "" {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	for _, report := range []string{"", "/daily", "/hourly", "/products", "/incrementality", "/reach"} {
		for _, format := range []string{"json", "csv", "parquet"} {
			address := "/public/v1/reporting-service/campaigns/" + campaign.CampaignID + report + "?start_date=2026-03-17&end_date=2026-03-17&format=" + format
			if rec := send(w, http.MethodGet, address, "management", ""); rec.Code != http.StatusOK || rec.Body.Len() == 0 {
				t.Errorf("%s: %d %s", address, rec.Code, rec.Body)
			}
		}
	}
}
