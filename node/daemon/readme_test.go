package daemon

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/config"
)

// The answer that the README shows is that of the demo: the same winners for the same body.
func TestTheREADMEsFirstAuction(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)/v2/auctions -H [^\n]* -d '([^']*)'\n```\n\n```json\n(.*?)\n```").FindSubmatch(readme)
	if shown == nil {
		t.Fatal("the README shows no auction with its answer")
	}
	var want map[string]any
	if err := json.Unmarshal(shown[2], &want); err != nil {
		t.Fatalf("the README's answer is no JSON: %v", err)
	}

	r := run(t, testConfig(t.TempDir(), 1), Options{Demo: &DemoOptions{}})
	got := r.must(201, "POST", r.auction+"/v2/auctions", r.keys.Auction, string(shown[1]))
	if g, w := winners(got), winners(want); len(g) == 0 || len(g) != len(w) {
		t.Fatalf("%d winners, the README shows %d", len(g), len(w))
	}
	for i := range winners(want) {
		g, w := winners(got)[i].(map[string]any), winners(want)[i].(map[string]any)
		if g["id"] != w["id"] || g["rank"] != w["rank"] || len(g) != len(w) {
			t.Errorf("winner %d is %v, the README shows %v", i+1, g, w)
		}
	}
}

// The calls of the README's own market succeed as printed, and then its product wins.
func TestTheREADMEsOwnMarket(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`(?m)^call (PUT|POST) (\S+) '([^']*)'$`).FindAllSubmatch(readme, -1)
	if len(calls) != 4 {
		t.Fatalf("the README shows %d calls, want 4", len(calls))
	}
	r := run(t, testConfig(t.TempDir(), 1), Options{})
	for _, c := range calls {
		status, answer := r.call(string(c[1]), r.manage+"/public/v1"+string(c[2]), r.keys.Management, string(c[3]))
		if status != 200 && status != 201 {
			t.Fatalf("%s answered %d %v", c[0], status, answer)
		}
	}
	r.winner()
}

// What the commands of the README and the runbook write into the checkout is ignored by git.
func TestWrittenFilesAreIgnored(t *testing.T) {
	ignored, err := os.ReadFile("../../.gitignore")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{"/bin/": true, config.Default().DataDir: true, "gavel-demo": true, "gavel-cluster": true}
	for _, document := range []string{"../../README.md", "../operator/RUNBOOK.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`--(?:keys-file|out|data-dir) ([a-z][\w./-]*)`).FindAllSubmatch(text, -1) {
			written[string(found[1])] = true
		}
	}
	if !written["keys.json"] || !written["certificates"] {
		t.Errorf("the documents write only %v", written)
	}
	for path := range written {
		name := strings.Trim(strings.TrimPrefix(path, "./"), "/")
		if !regexp.MustCompile(`(?m)^/` + regexp.QuoteMeta(name) + `/?$`).Match(ignored) {
			t.Errorf(".gitignore does not name %s", path)
		}
	}
}

func winners(answer map[string]any) []any {
	return answer["results"].([]any)[0].(map[string]any)["winners"].([]any)
}

// Every call that the demo prints has winners in every auction, and the explained auction has losers.
func TestTheDemosCallsHaveWinners(t *testing.T) {
	r := run(t, testConfig(t.TempDir(), 1), Options{Demo: &DemoOptions{Products: 3000, Vendors: 40, Campaigns: 120}})
	for deadline := time.Now().Add(time.Minute); !strings.Contains(r.out.String(), " explain "); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the demo printed %s", r.out)
		}
	}
	calls := regexp.MustCompile(`(?m)^  curl -s (\S+) -H 'Authorization: Bearer (\S+)' -d '(.*)'$`).FindAllStringSubmatch(r.out.String(), -1)
	kinds := map[string]bool{}
	for _, c := range calls {
		answer := r.must(201, "POST", c[1], c[2], c[3])
		for i, result := range answer["results"].([]any) {
			x := result.(map[string]any)
			kinds[x["resultType"].(string)] = true
			if len(x["winners"].([]any)) == 0 {
				t.Errorf("auction %d of %s has no winner: %v", i, c[3], answer)
			}
		}
	}
	for _, kind := range []string{"listings", "banners", "brand", "hotels", "flights"} {
		if !kinds[kind] {
			t.Errorf("no call has a result of type %s: %v", kind, kinds)
		}
	}
	body := regexp.MustCompile(`(?m)^  echo '(.*)' \| GAVEL_MANAGE_KEY=`).FindStringSubmatch(r.out.String())
	if len(calls) != 7 || body == nil {
		t.Fatalf("%d calls in %s", len(calls), r.out)
	}
	explained := r.must(200, "POST", r.manage+"/public/v1/auctions/explain", r.keys.Management, body[1])
	if lost := explained["auctions"].([]any)[0].(map[string]any)["lost"].(map[string]any); len(lost) == 0 {
		t.Errorf("nobody lost: %v", explained)
	}
}
