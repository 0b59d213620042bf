package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// exportedRow has the columns of journal and rollups that the test reads.
type exportedRow struct {
	Kind        string `json:"kind"`
	CampaignID  string `json:"campaign_id"`
	Amount      int64  `json:"amount_micros"`
	Impressions int64  `json:"spent_impressions_micros"`
	Clicks      int64  `json:"spent_clicks_micros"`
	Purchases   int64  `json:"spent_purchases_micros"`
}

// spentBy sums what campaigns were charged.
func spentBy(t *testing.T, lines string) map[string]int64 {
	t.Helper()
	spent := map[string]int64{}
	for scan := bufio.NewScanner(strings.NewReader(lines)); scan.Scan(); {
		var r exportedRow
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(r.Kind, "_charge") {
			spent[r.CampaignID] += r.Amount
		}
		if r.CampaignID != "" {
			spent[r.CampaignID] += r.Impressions + r.Clicks + r.Purchases
		}
	}
	return spent
}

// TestExportOfAMarket exports a market while shoppers click, and again from its stopped node: journal and counters say of every campaign
// what gavel check finds, which shares no code with them.
func TestExportOfAMarket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, stop := runNode(t, "demo", "--products=200", "--vendors=10", "--campaigns=20", "--shoppers=20", "--history-days=0", "--groups=2", "--data-dir="+dir)
	command := func(dataset, format, out string) []string {
		return []string{"export", dataset, "--from=2020-01-01", "--to=2100-01-01", "--format=" + format, "--out=" + out, "--data-dir=" + dir}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		r := gavel(nil, command("journal", "ndjson", "-")...)
		if r.code != exitSuccess {
			t.Fatalf("code %d: %s", r.code, r.err)
		}
		if strings.Contains(r.out, "_charge") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the shoppers caused no charge")
		}
	}
	events := filepath.Join(dir, "events.ndjson")
	if r := gavel(nil, command("events", "ndjson", events)...); r.code != exitFailed || !strings.Contains(r.err, "eventRetentionDays is 0") {
		t.Errorf("a marketplace that keeps no events: code %d: %s", r.code, r.err)
	}
	if _, err := os.Stat(events); !os.IsNotExist(err) {
		t.Errorf("a file of no events was written: %v", err)
	}
	stop()
	want := map[string]int64{}
	report := checkedDirectory(t, dir)
	for _, c := range report.Campaigns {
		if c.Spent != 0 {
			want[c.ID] = c.Spent
		}
	}
	for _, dataset := range []string{"journal", "rollups"} {
		r := gavel(nil, command(dataset, "ndjson", "-")...)
		if r.code != exitSuccess {
			t.Fatalf("%s: code %d: %s", dataset, r.code, r.err)
		}
		got := spentBy(t, r.out)
		for id, spent := range want {
			if got[id] != spent {
				t.Errorf("%s: campaign %s spent %d, gavel check says %d", dataset, id, got[id], spent)
			}
		}
	}
	file := filepath.Join(dir, "journal.parquet")
	if r := gavel(nil, command("journal", "parquet", file)...); r.code != exitSuccess {
		t.Fatalf("code %d: %s", r.code, r.err)
	}
	if content, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(content), "PAR1") || !strings.HasSuffix(string(content), "PAR1") {
		t.Errorf("%d bytes, %v: no Parquet file", len(content), err)
	}
}

// A mistake is refused before anything is written.
func TestExportRefusesMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"journals", "--from=2026-01-01", "--to=2026-01-02"},
		{"journal", "--from=yesterday", "--to=2026-01-02"},
		{"journal", "--from=2026-01-02", "--to=2026-01-01"},
		{"journal", "--from=1969-01-02", "--to=2026-01-01"},
		{"journal", "--from=2026-01-01", "--to=2026-01-02", "--format=csv"},
		{"journal", "--from=2026-01-01"},
	} {
		if r := gavel(nil, append(append([]string{"export"}, args...), "--out="+file)...); r.code != exitUsage {
			t.Errorf("%q: code %d: %s", args, r.code, r.err)
		}
	}
	if r := gavel(nil, "export", "journal", "--from=2026-01-01", "--to=2026-01-02", "--out="+file, "--data-dir="+t.TempDir()); r.code != exitFailed {
		t.Errorf("a directory without a node: code %d: %s", r.code, r.err)
	}
	if left, err := filepath.Glob(file + "*"); err != nil || len(left) > 0 {
		t.Errorf("files were left: %q, %v", left, err)
	}
}
