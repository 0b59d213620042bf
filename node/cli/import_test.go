package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// A shop's vendors, products and campaigns are imported into a running node; rows that it refuses are named, and a batch that
// is sent again, because the import ended before it stored that it was acknowledged, creates nothing twice.
func TestImport(t *testing.T) {
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys.json")
	manage, _ := runNode(t, "serve", "--data-dir="+filepath.Join(dir, "data"), "--keys-file="+keys)
	text, err := os.ReadFile(keys)
	if err != nil {
		t.Fatal(err)
	}
	key := string(text[strings.Index(string(text), "gavel_mgt_"):])
	key = key[:strings.IndexByte(key, '"')]
	runImport := func(what, name, content string, code int, says string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		r := gavel([]string{"GAVEL_MANAGE_KEY=" + key}, "import", what, file, "--manage="+manage)
		if r.code != code || !strings.Contains(r.out+r.err, says) {
			t.Errorf("import %s: code %d: %s%s, want %d, %q", what, r.code, r.out, r.err, code, says)
		}
	}
	ask := func(path string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, manage+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		return answerOf(t, r)
	}
	runImport("vendors", "vendors.csv", "id,name,vendor_role\nv1,Vendor 1,\nv2,Vendor 2,analytics\n", exitSuccess, "2 rows imported")
	type vendorRow struct {
		ID   string `parquet:"id"`
		Name string `parquet:"name"`
	}
	var table bytes.Buffer
	if err := parquet.Write(&table, []vendorRow{{"v3", "Vendor 3"}, {"v4", "Vendor 4"}}); err != nil {
		t.Fatal(err)
	}
	runImport("vendors", "more.parquet", table.String(), exitSuccess, "2 rows imported")
	file := filepath.Join(dir, "shown.csv")
	if err := os.WriteFile(file, []byte("id,name\nv5,Vendor 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	terminal := &process{out: &shown, err: &shown, errTerminal: true, environ: []string{"GAVEL_MANAGE_KEY=" + key}}
	if code := terminal.run([]string{"import", "vendors", file, "--manage=" + manage}); code != exitSuccess || !strings.Contains(shown.String(), "importing: 0.0 MiB of 0.0 MiB (100 %)") {
		t.Errorf("code %d, the terminal shows %q", code, shown.String())
	}
	if vendors := ask("/public/v1/catalog-search-service/catalogs/vendors"); !strings.Contains(vendors, `"name":"Vendor 4"`) {
		t.Errorf("the vendors are %s", vendors)
	}
	runImport("catalog", "products.ndjson", `{"id":"p1","name":"A","vendors":["v1"],"price":9.90,"brand":{"id":"b"}}
{"id":"p1","name":"B","vendors":["v1"],"price":9.95}
{"id":"p2","name":"C","vendors":["v1"],"brand":{"name":"no id"}}
`, exitFailed, "1 of 3 rows failed, see "+filepath.Join(dir, "products.ndjson.errors"))
	refused, err := os.ReadFile(filepath.Join(dir, "products.ndjson.errors"))
	if err != nil || !strings.Contains(string(refused), `{"line":3,"column":"brand.id",`) {
		t.Errorf("the file of errors: %s, %v", refused, err)
	}
	products := ask("/public/v1/catalog-search-service/catalogs/products")
	if strings.Count(products, `"id":"p`) != 1 || !strings.Contains(products, `"name":"B"`) || !strings.Contains(products, "9.95") {
		t.Errorf("the catalog is %s", products)
	}

	campaigns := "vendorId,name,campaignType,bidProducts,bidAmount,budget.amount,externalCampaignId\n" +
		"v1,Spring,manual,p1,35,2000,\nv1,Spring,manual,p1,35,2000,\nnobody,Spring,manual,p1,35,2000,\nv1,Summer,manual,p1,35,,summer\n"
	runImport("campaigns", "campaigns.csv", campaigns, exitFailed, "1 of 4 rows failed")
	created := func() int { return strings.Count(ask("/public/v1/campaign-service/campaigns"), `"campaignId"`) }
	if n := created(); n != 3 {
		t.Errorf("%d campaigns, want 3", n)
	}
	forgetProgress(t, filepath.Join(dir, "campaigns.csv.progress"))
	runImport("campaigns", "campaigns.csv", campaigns, exitFailed, "1 of 4 rows failed")
	if n := created(); n != 3 {
		t.Errorf("%d campaigns after the repeat, want 3", n)
	}
	runImport("campaigns", "campaigns.csv", campaigns, exitFailed, "nothing was sent")
	if r := gavel(nil, "import", "catalog", filepath.Join(dir, "missing.csv"), "--key=k"); r.code != exitUsage {
		t.Errorf("a missing file: code %d: %s", r.code, r.err)
	}
}

// forgetProgress makes a progress file what it was before the first batch was acknowledged.
func forgetProgress(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"offset", "lines", "rows", "failed", "errorsSize"} {
		members[member] = 0
	}
	members["done"] = false
	members["sha256"] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // Of nothing.
	if text, err = json.Marshal(members); err == nil {
		err = os.WriteFile(name, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
