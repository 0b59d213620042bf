package export_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/store"
)

// duckDB is the directory of the script and of its npm package.
const duckDB = "testdata/duckdb"

// sumsOf are the sums that DuckDB finds in the files of one format, as decimal texts.
type sumsOf struct {
	Campaigns   []sumRow
	Charged     []sumRow
	Wallets     []sumRow
	Conversions []sumRow
	Events      []sumRow
	Items       []sumRow
}

type sumRow struct{ ID, Impressions, Clicks, Spent, Sales, Balance string }

// TestDuckDBReadsTheReports: DuckDB reads the files of a day, Parquet and NDJSON, and finds the money of the reports, the journal, the
// events and the wallets, to the micro.
func TestDuckDBReadsTheReports(t *testing.T) {
	if _, err := os.Stat(filepath.Join(duckDB, "node_modules")); err != nil {
		t.Skip("DuckDB is not there; npm install --no-package-lock --prefix node/export/testdata/duckdb installs it")
	}
	w := newShop(t)
	w.day(6, 20)
	w.pass(2 * time.Hour)
	to, dir := newMemory(), t.TempDir()
	w.export(w.exporter(to))
	for path, content := range to.files {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got struct {
		Parquet, NDJSON sumsOf
		Types           []map[string]string
	}
	if err := json.Unmarshal(askDuckDB(t, filepath.Join(dir, w.tenant.Settings().ID.String())), &got); err != nil {
		t.Fatal(err)
	}
	for format, sums := range map[string]*sumsOf{"parquet": &got.Parquet, "ndjson": &got.NDJSON} {
		w.compareSums(format, sums)
	}
	if len(got.Types) != 1 || !strings.HasPrefix(got.Types[0]["committed_at"], "TIMESTAMP") || got.Types[0]["amount_micros"] != "BIGINT" {
		t.Errorf("DuckDB sees the types %v", got.Types)
	}
}

func askDuckDB(t *testing.T, dir string) []byte {
	t.Helper()
	script := exec.CommandContext(t.Context(), "node", "sums.mjs", dir)
	script.Dir = duckDB
	var faults strings.Builder
	script.Stderr = &faults
	out, err := script.Output()
	if err != nil {
		t.Fatalf("node sums.mjs: %v\n%s", err, faults.String())
	}
	return out
}

// compareSums compares what DuckDB found with the reports and wallets.
func (w *shop) compareSums(format string, sums *sumsOf) {
	w.t.Helper()
	byID := func(rows []sumRow) map[string]sumRow {
		all := map[string]sumRow{}
		for _, r := range rows {
			all[r.ID] = r
		}
		return all
	}
	campaigns, charged, wallets, conversions := byID(sums.Campaigns), byID(sums.Charged), byID(sums.Wallets), byID(sums.Conversions)
	events, items := byID(sums.Events), byID(sums.Items)
	for _, c := range w.campaigns {
		id := c.ID.String()
		sum, err := w.tenant.CampaignReport(w.t.Context(), c.ID, store.Dates{From: "2026-01-01", To: "2026-12-31"})
		if err != nil {
			w.t.Fatal(err)
		}
		spent, sales := strconv.FormatInt(int64(sum.Spent()), 10), strconv.FormatInt(int64(sum.Attributed.Amount), 10)
		want := sumRow{
			ID: id, Impressions: strconv.FormatInt(sum.Impressions, 10), Clicks: strconv.FormatInt(sum.Clicks, 10), Spent: spent, Sales: sales,
		}
		if campaigns[id] != want || charged[id].Spent != spent || conversions[id].Sales != sales {
			w.t.Errorf("%s: DuckDB finds %+v, %+v and %+v; the report is %+v", format, campaigns[id], charged[id], conversions[id], want)
		}
		want.Sales = ""
		if events[id] != want || items[c.VendorID].Sales != sales {
			w.t.Errorf("%s: DuckDB finds the events %+v with items for %+v; the report is %+v and %s", format, events[id], items[c.VendorID], want, sales)
		}
		own, err := w.tenant.Wallets(w.t.Context(), c.VendorID)
		if err != nil || wallets[own[0].ID.String()].Balance != strconv.FormatInt(int64(own[0].Balance), 10) {
			w.t.Errorf("%s: DuckDB finds %+v, the balance is %d (%v)", format, wallets[own[0].ID.String()], own[0].Balance, err)
		}
	}
}
