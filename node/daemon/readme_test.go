package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
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
	r.filled()
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
	r.pasteClick()
}

// pasteClick checks that the click of the README is charged when it is pasted, and that it sends nothing without a winner.
func (r *runningNode) pasteClick() {
	r.Helper()
	commands, key := r.block("/v2/events"), "AUCTION_KEY="+r.keys.Auction
	if out := r.paste("", commands, key); !strings.HasSuffix(out, "{}") || r.charged() == "0" {
		r.Errorf("printed %s, charged %s", out, r.charged())
	}
	before := r.charged()
	without := strings.Replace(commands, `"p12992"`, `"nothing"`, 1)
	shell := exec.CommandContext(r.Context(), "bash", "-c", without)
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), key}
	if out, err := shell.CombinedOutput(); err == nil || !strings.Contains(string(out), "the auction has no winner") || r.charged() != before {
		r.Errorf("without a winner: %v %s", err, out)
	}
}

// block returns the commands of the README that contain a text, with the addresses of a node, and checks that a shell and
// the programs that they call are installed.
func (r *runningNode) block(contains string) string {
	r.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		r.Fatal(err)
	}
	for _, program := range []string{"bash", "curl", "sed", "date"} {
		if _, err := exec.LookPath(program); err != nil {
			r.Skipf("%s is not installed", program)
		}
	}
	for i, text := range strings.Split(string(readme), "```") { // Every second part is between fences.
		if i%2 == 1 && strings.HasPrefix(text, "\n") && strings.Contains(text, contains) && strings.Contains(text, "curl") {
			return strings.NewReplacer("http://127.0.0.1:8080", r.auction, "http://127.0.0.1:8081", r.manage).Replace(text)
		}
	}
	r.Fatalf("the README has no commands with %s", contains)
	return ""
}

// paste runs commands in a shell and returns what they print.
func (r *runningNode) paste(dir, commands string, environ ...string) string {
	r.Helper()
	shell := exec.CommandContext(r.Context(), "bash", "-c", commands)
	shell.Dir, shell.Env = dir, append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	out, err := shell.CombinedOutput()
	if err != nil {
		r.Fatalf("%s\nfailed: %v\n%s", commands, err, out)
	}
	return string(out)
}

// charged returns the money that events have charged, in micro-units.
func (r *runningNode) charged() string {
	r.Helper()
	answer, err := http.Get(r.manage + "/metrics")
	if err != nil {
		r.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // It was read completely.
	found := regexp.MustCompile(`(?m)^gavel_charged_micros_total\{currency="EUR"\} (\S+)$`).FindSubmatch(text)
	if err != nil || found == nil {
		return "0"
	}
	return string(found[1])
}

// The commands of the README's own market succeed as pasted, and then its product wins.
func TestTheREADMEsOwnMarket(t *testing.T) {
	dir := t.TempDir()
	r := run(t, testConfig(dir, 1), Options{})
	out := r.paste(dir, r.block("call PUT /catalog-search-service"))
	if strings.Contains(out, "errCode") || strings.Contains(out, "detail") || !strings.Contains(out, "campaignId") || !strings.Contains(out, "resolvedBidId") {
		t.Errorf("printed %s", out)
	}
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

// filled waits until the demo has filled its market and printed its calls.
func (r *runningNode) filled() {
	r.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !strings.Contains(r.out.String(), " explain "); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatalf("the demo printed %s", r.out)
		}
	}
}

func winners(answer map[string]any) []any {
	return answer["results"].([]any)[0].(map[string]any)["winners"].([]any)
}

// Every call that the demo prints has winners in every auction, and the explained auction has losers.
func TestTheDemosCallsHaveWinners(t *testing.T) {
	r := run(t, testConfig(t.TempDir(), 1), Options{Demo: &DemoOptions{Products: 3000, Vendors: 40, Campaigns: 120}})
	r.filled()
	calls := regexp.MustCompile(`(?m)^  curl -s (\S+) -H 'Authorization: Bearer (\S+)' -d '(.*)'$`).FindAllStringSubmatch(r.out.String(), -1)
	kinds := map[string]bool{}
	for _, c := range calls {
		if strings.HasSuffix(c[1], "/v2/events") {
			continue
		}
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
	if len(calls) != 8 || body == nil {
		t.Fatalf("%d calls in %s", len(calls), r.out)
	}
	click := regexp.MustCompile(`(?m)^  curl -s \S+/v2/events .*$`).FindString(r.out.String())
	for range 2 { // The second time the same click.
		if out := r.paste("", click); out != "{}" {
			t.Errorf("%s answered %s", click, out)
		}
	}
	if r.charged() == "0" {
		t.Error("the click was not charged")
	}
	explained := r.must(200, "POST", r.manage+"/public/v1/auctions/explain", r.keys.Management, body[1])
	if lost := explained["auctions"].([]any)[0].(map[string]any)["lost"].(map[string]any); len(lost) == 0 {
		t.Errorf("nobody lost: %v", explained)
	}
}

// The demo prints its keys, as lines for a shell, before it fills the market, and names what to do when it has none.
func TestTheDemoPrintsItsKeysFirst(t *testing.T) {
	cfg := testConfig(t.TempDir(), 1)
	small := &DemoOptions{Products: 300, Vendors: 10, Campaigns: 20}
	terminal := &output{}
	first := run(t, cfg, Options{Demo: small, Log: terminal, LogTerminal: true}) // Its keys are in a file.
	first.filled()
	first.stop()
	if shown := terminal.String(); !strings.Contains(shown, "filling the demo market: 100 %") {
		t.Errorf("the terminal does not show how far the market is filled: %q", shown)
	}
	again := run(t, cfg, Options{Demo: small})
	again.filled()
	again.stop()
	if !regexp.MustCompile(`(?m)^export AUCTION_KEY=gavel_auc_\S+$`).MatchString(again.out.String()) || !strings.Contains(again.out.String(), "gavel keys create") {
		t.Errorf("a second start prints %s", again.out)
	}

	cfg = testConfig(t.TempDir(), 1)
	cfg.KeysFile = ""
	out := &output{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, cfg, Options{Out: out, Demo: &DemoOptions{}}) }()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(out.String(), "\nexport GAVEL_MANAGE_KEY=gavel_mgt_"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no keys in %s", out)
		}
	}
	if strings.Contains(out.String(), "filled") {
		t.Errorf("the keys come after the market: %s", out)
	}
	cancel() // A fill that is ended is an orderly stop.
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
