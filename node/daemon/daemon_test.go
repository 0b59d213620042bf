package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/config"
)

// output collects what a node prints, and can be read while the node runs.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// runningNode is a node in this process.
type runningNode struct {
	*testing.T
	auction, manage string
	keys            FirstKeys
	idempotencyKey  string // Sent as a header when not empty.
	out             *output
	stop            func()
}

func testConfig(dir string, groups int) config.Config {
	cfg := config.Default()
	cfg.DataDir = filepath.Join(dir, "data")
	cfg.KeysFile = filepath.Join(dir, "keys.json")
	cfg.AuctionListen, cfg.ManageListen = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Groups = groups
	cfg.Log.Level = "error"
	return cfg
}

// run starts a node and waits for its banner.
func run(t *testing.T, cfg config.Config, o Options) *runningNode {
	t.Helper()
	out, chosen := o.Out.(*output)
	if !chosen {
		out = &output{}
	}
	o.Out, o.Version = out, "test"
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, cfg, o) }()
	r := &runningNode{T: t, out: out}
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the node stopped with %v", err)
		}
	})
	t.Cleanup(r.stop)
	urls := regexp.MustCompile(`(https?://[0-9.:]+)/v2/auctions[\s\S]*?(https?://[0-9.:]+)/docs`)
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the node did not start: %v", err)
		default:
		}
		if found := urls.FindStringSubmatch(out.String()); found != nil {
			r.auction, r.manage = found[1], found[2]
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no banner: %s", out)
		}
	}
	raw, err := os.ReadFile(cfg.KeysFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &r.keys); err != nil {
		t.Fatal(err)
	}
	return r
}

// call sends a body and returns the status and the decoded answer.
func (r *runningNode) call(method, url, key, body string) (int, map[string]any) {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if r.idempotencyKey != "" {
		req.Header.Set("Idempotency-Key", r.idempotencyKey)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	var answer map[string]any
	if len(raw) > 0 && bytes.HasPrefix(raw, []byte("{")) {
		if err := json.Unmarshal(raw, &answer); err != nil {
			r.Fatalf("%s %s answered %s", method, url, raw)
		}
	}
	return resp.StatusCode, answer
}

// must is call with a required status.
func (r *runningNode) must(want int, method, url, key, body string) map[string]any {
	r.Helper()
	status, answer := r.call(method, url, key, body)
	if status != want {
		r.Fatalf("%s %s: status %d, want %d: %v", method, url, status, want, answer)
	}
	return answer
}

// market creates a vendor with money, a product and a campaign, and returns the campaign's id.
func (r *runningNode) market() string {
	r.Helper()
	api := r.manage + "/public/v1"
	r.must(200, "PUT", api+"/catalog-search-service/catalogs/vendors", r.keys.Management, `{"vendors":[{"id":"v1","name":"Vendor"}]}`)
	r.must(200, "PUT", api+"/catalog-search-service/catalogs/products", r.keys.Management,
		`{"products":[{"id":"p1","name":"Product","vendors":["v1"],"categories":["c1"],"price":12.5}]}`)
	r.must(200, "POST", api+"/billing-service/vendors/v1/balance", r.keys.Management, `{"balance":100}`)
	c := r.must(201, "POST", api+"/campaign-service/campaigns?vendor_id=v1", r.keys.Management,
		`{"name":"First","campaignType":"manual","budget":{"amount":1000,"type":"daily"},
		  "bids":[{"target":{"type":"product","id":"p1"},"amount":50}]}`)
	return c["campaignId"].(string)
}

func (r *runningNode) winner() string {
	r.Helper()
	a := r.must(201, "POST", r.auction+"/v2/auctions", r.keys.Auction,
		`{"auctions":[{"type":"listings","slots":2,"products":{"ids":["p0","p1"]}}]}`)
	won := winners(a)
	if len(won) != 1 {
		r.Fatalf("got %v, want p1 to win", a)
	}
	return won[0].(map[string]any)["resolvedBidId"].(string)
}

func click(id, token string) string {
	return fmt.Sprintf(`{"clicks":[{"id":%q,"occurredAt":%q,"opaqueUserId":"u","resolvedBidId":%q}]}`,
		id, time.Now().UTC().Format(time.RFC3339Nano), token)
}

func (r *runningNode) report(campaign string) (clicks, charged, spent float64) {
	r.Helper()
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) } // The test may pass midnight.
	a := r.must(200, "GET", r.manage+"/public/v1/reporting-service/campaigns/"+campaign+"?start_date="+day(-1)+"&end_date="+day(1), r.keys.Management, "")
	c := a["clicks"].(map[string]any)
	return c["total"].(float64), c["charged"].(float64), c["adSpent"].(float64)
}

// The main path: a market is created, an auction is won, a click is charged once, and all of it is there after a
// restart.
func TestANodeChargesAClickOnceAndRemembersIt(t *testing.T) {
	for _, groups := range []int{1, 4} {
		t.Run(fmt.Sprintf("groups=%d", groups), func(t *testing.T) {
			cfg := testConfig(t.TempDir(), groups)
			r := run(t, cfg, Options{})
			campaign := r.market()
			token := r.winner()
			for range 3 {
				r.must(200, "POST", r.auction+"/v2/events", r.keys.Auction, click("e1", token))
			}
			r.must(200, "POST", r.manage+"/v2/events", r.keys.Auction, click("e2", token))
			r.stop()

			cfg.Groups = 0 // The data directory holds the number.
			r = run(t, cfg, Options{})
			r.must(200, "POST", r.auction+"/v2/events", r.keys.Auction, click("e1", token))
			if clicks, charged, spent := r.report(campaign); clicks != 2 || charged != 1 || spent != 1 {
				t.Errorf("the report says %v clicks, %v charged, %v spent; want 2, 1 and 1 (no competitor: the least price)",
					clicks, charged, spent)
			}
			r.winner()
		})
	}
}

// The first keys are shown once. A start that fails on a taken port must not have created the cluster.
func TestATakenPortCreatesNoCluster(t *testing.T) {
	for _, taken := range []func(c *config.Config) *string{
		func(c *config.Config) *string { return &c.AuctionListen },
		func(c *config.Config) *string { return &c.ManageListen },
	} {
		var listen net.ListenConfig
		busy, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		cfg := testConfig(t.TempDir(), 1)
		*taken(&cfg) = busy.Addr().String()
		err = Run(t.Context(), cfg, Options{Out: io.Discard})
		if err == nil || !strings.Contains(err.Error(), "address already in use") || !strings.Contains(err.Error(), "-listen HOST:PORT") {
			t.Fatalf("a start on a taken port: %v", err)
		}
		if err := busy.Close(); err != nil {
			t.Fatal(err)
		}
		r := run(t, cfg, Options{}) // Reads the keys file.
		if status, answer := r.call(http.MethodGet, r.manage+"/public/v1/key-service/keys", r.keys.Management, ""); status != http.StatusOK {
			t.Errorf("the keys of the second start: %d %v", status, answer)
		}
		if !strings.Contains(r.out.String(), "first keys") {
			t.Errorf("the second start does not print where the keys are:\n%s", r.out)
		}
		r.stop()
	}
}

// The replication stores with a batch the digest of that batch, so a clean restart finds the state complete and
// rebuilds nothing.
func TestACleanRestartRebuildsNothing(t *testing.T) {
	cfg := testConfig(t.TempDir(), 2)
	r := run(t, cfg, Options{})
	r.market()
	r.must(200, "POST", r.auction+"/v2/events", r.keys.Auction, click("e1", r.winner()))
	r.stop()

	n, err := start(t.Context(), cfg, Options{}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	if rebuilt := n.raft.Stats().StatesRebuilt; rebuilt != 0 {
		t.Errorf("%d states were rebuilt", rebuilt)
	}
	if err := n.stop(n.log); err != nil {
		t.Error(err)
	}
}

// A deposit or a campaign whose outcome is unknown is repeated with its Idempotency-Key, also after a restart of the
// node, and is applied once.
func TestAnIdempotencyKeyOutlivesTheProcess(t *testing.T) {
	cfg := testConfig(t.TempDir(), 1)
	var campaigns []string
	for range 2 {
		r := run(t, cfg, Options{})
		api := r.manage + "/public/v1"
		r.must(200, "PUT", api+"/catalog-search-service/catalogs/vendors", r.keys.Management, `{"vendors":[{"id":"v1","name":"Vendor"}]}`)
		r.idempotencyKey = "deposit-1"
		r.must(200, "POST", api+"/billing-service/vendors/v1/balance", r.keys.Management, `{"balance":100}`)
		r.idempotencyKey = "campaign-1"
		c := r.must(201, "POST", api+"/campaign-service/campaigns?vendor_id=v1", r.keys.Management,
			`{"name":"First","campaignType":"manual","externalCampaignId":"x","bids":[{"target":{"type":"product","id":"p1"},"amount":50}]}`)
		campaigns = append(campaigns, c["campaignId"].(string))
		r.idempotencyKey = ""
		if b := r.must(200, "GET", api+"/billing-service/vendors/v1/balance", r.keys.Management, ""); b["balance"] != 100.0 {
			t.Errorf("the balance is %v, want 100", b["balance"])
		}
		all := r.must(200, "GET", api+"/campaign-service/campaigns", r.keys.Management, "")["campaigns"].([]any)
		if len(all) != 1 || all[0].(map[string]any)["bidCount"] != 1.0 {
			t.Errorf("campaigns: %v", all)
		}
		r.stop()
	}
	if campaigns[0] != campaigns[1] {
		t.Errorf("two campaigns: %v", campaigns)
	}
}
