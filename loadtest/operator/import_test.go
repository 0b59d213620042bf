package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/internal/sources"
)

// A marketplace is imported into a real node with an importer that is killed at random points, then backed up and restored:
// nothing is lost, doubled or different. make import does the same with a million products and bids.
func TestInterruptedImport(t *testing.T) {
	rows := 20_000
	if testing.Short() {
		rows = 2_000
	}
	const node = "github.com/gavel-ads/gavel/node"
	binary := filepath.Join(t.TempDir(), "gavel")
	sources.Program(t, node, binary)
	var out strings.Builder
	err := command(t.Context(), []string{"--node", binary, "--data-parent", t.TempDir(), "--rows", strconv.Itoa(rows), "--kills", "20", "import"}, &out, io.Discard)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
	for _, want := range []string{"after the import: ", "after the restore: "} {
		if !strings.Contains(out.String(), want+strconv.Itoa(rows)+" products") {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}

// The files are what the market says: the reader of CSV and that of JSON find its rows in them.
func TestMarketFiles(t *testing.T) {
	m := market{1_203}
	files, err := m.write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(files.catalog)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) != 1+m.products {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := fmt.Sprint([]string{productID(700), productName(700), "vendor-07", productCategory(700), productPrice(700), `{"colour":"c0"}`})
	if got := fmt.Sprint(rows[701]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	content, err := os.ReadFile(files.campaigns)
	if err != nil {
		t.Fatal(err)
	}
	bids := 0
	for line := range strings.Lines(string(content)) {
		var campaign struct{ Bids []struct{ Amount int } }
		if err := json.Unmarshal([]byte(line), &campaign); err != nil {
			t.Fatal(err)
		}
		bids += len(campaign.Bids)
	}
	if bids != m.products || m.campaigns() != 13 || m.bidsOf(12) != 3 {
		t.Errorf("%d bids in %d campaigns, the last with %d", bids, m.campaigns(), m.bidsOf(2))
	}
}

// fakeMarket answers the lists of a market, two items a page, after a defect was made in them.
type fakeMarket struct {
	products, campaigns []string
	bids                map[string][]string
}

func newFakeMarket(m market) *fakeMarket {
	f := &fakeMarket{bids: map[string][]string{}}
	for i := range m.products {
		f.products = append(f.products, fmt.Sprintf(`{"id":%q,"name":%q,"vendors":[%q],"categories":[%q],"price":%s,"metadata":{"colour":"c%d"}}`,
			productID(i), productName(i), vendorOfProduct(i), productCategory(i), productPrice(i), i%7))
	}
	for k := range m.campaigns() {
		id := fmt.Sprintf("id-%d", k)
		f.campaigns = append(f.campaigns, fmt.Sprintf(`{"campaignId":%q,"vendorId":%q,"name":%q,"bidCount":%d}`, id, campaignVendor(k), campaignName(k), m.bidsOf(k)))
		for j := range m.bidsOf(k) {
			i := k*bidsPerCampaign + j
			f.bids[id] = append(f.bids[id], fmt.Sprintf(`{"target":{"type":"product","id":%q},"amount":%d}`, productID(i), bidAmount(i)))
		}
	}
	return f
}

func (f *fakeMarket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	list, member := f.products, "response"
	if rest, campaigns := strings.CutPrefix(r.URL.Path, "/public/v1/campaign-service/campaigns"); campaigns {
		list, member = f.campaigns, "campaigns"
		if rest != "" {
			list, member = f.bids[strings.TrimSuffix(strings.TrimPrefix(rest, "/"), "/bids")], "bids"
		}
	}
	const size = 2
	from, _ := strconv.Atoi(r.URL.Query().Get("offset") + r.URL.Query().Get("next_page")) // 0 without both.
	to := min(from+size, len(list))
	fmt.Fprintf(w, `{%q:[%s],"hasMore":%v,"nextPage":"%d"}`, member, strings.Join(list[from:to], ","), to < len(list), to)
}

// What is lost, doubled or different after an import is found.
func TestReadBackFindsDefects(t *testing.T) {
	m := market{103}
	for _, c := range []struct {
		defect func(f *fakeMarket)
		says   string
	}{
		{func(*fakeMarket) {}, ""},
		{func(f *fakeMarket) { f.products = f.products[1:] }, "102 products were read, 103 imported"},
		{func(f *fakeMarket) { f.products[1] = f.products[0] }, "there twice"},
		{func(f *fakeMarket) { f.products[7] = strings.Replace(f.products[7], `"price":`, `"price":1`, 1) }, "the product product-0000007 is"},
		{func(f *fakeMarket) { f.products[7] = strings.Replace(f.products[7], `{"colour":"c0"}`, `{}`, 1) }, "the product product-0000007 is"},
		{func(f *fakeMarket) { f.products[7] = strings.Replace(f.products[7], "product-", "other-", 1) }, "was not imported"},
		{func(f *fakeMarket) { f.campaigns = f.campaigns[:1] }, "1 campaigns were read, 2 imported"},
		{func(f *fakeMarket) { f.campaigns = append(f.campaigns, f.campaigns[0]) }, `"Campaign 0" is there twice`},
		{func(f *fakeMarket) { f.campaigns[1] = strings.Replace(f.campaigns[1], ":3", ":4", 1) }, `the campaign "Campaign 1" is`},
		{func(f *fakeMarket) { f.bids["id-1"] = f.bids["id-1"][1:] }, `"Campaign 1" has 2 bids, 3 were imported`},
		{func(f *fakeMarket) { f.bids["id-1"][1] = f.bids["id-1"][0] }, "there twice"},
		{func(f *fakeMarket) {
			f.bids["id-0"][9] = strings.Replace(f.bids["id-0"][9], `"amount":`, `"amount":1`, 1)
		}, `a bid of "Campaign 0" is`},
	} {
		f := newFakeMarket(m)
		c.defect(f)
		node := httptest.NewServer(f)
		err := m.readBack(t.Context(), newAPI(node.URL, "k", readers))
		node.Close()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
}
