package main_test

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/internal/sources"
	"github.com/gavel-ads/gavel/loadtest/shop"
	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/nodetest"
)

const clients = "testdata/clients"

// TestCompat runs the published clients, unchanged, against a real process: three versions of the JavaScript client,
// each against both listeners, the raw requests that a browser sends in addition, a page on another origin, and the
// vendors' dialog in a test page. It is the only test that needs more than Go: it runs when GAVEL_COMPAT is 1 (make
// compat; make test sets it when Node.js is there).
func TestCompat(t *testing.T) {
	if os.Getenv("GAVEL_COMPAT") != "1" {
		t.Skip("GAVEL_COMPAT is not 1; make compat runs this test")
	}
	needNodeJS(t)
	installClients(t)

	auction, management := newKey(t, auth.Auction), newKey(t, auth.Management)
	node := nodetest.Start(t, nodetest.Options{
		Env: []string{"GAVEL_BOOTSTRAP_AUCTION_KEY=" + auction, "GAVEL_BOOTSTRAP_MANAGEMENT_KEY=" + management},
	})
	if node.Keys.AuctionKey != auction || node.Keys.ManagementKey != management {
		t.Errorf("the keys preset by the environment are not the first keys: %+v", node.Keys)
	}
	setUpShop(t, shop.New(node.ManageURL, management))
	setUpBanner(&testClient{t, node})

	sources.File(t, filepath.Join(clients, "package-lock.json"))
	script := func(name string, env ...string) func(*testing.T) {
		return func(t *testing.T) {
			sources.File(t, filepath.Join(clients, name))
			check := exec.CommandContext(t.Context(), "node", name)
			check.Dir = clients
			check.Env = append(append(os.Environ(), "AUCTION_KEY="+auction, "MANAGEMENT_KEY="+management, "VENDOR=v1", "NODE_OPTIONS="), env...)
			out, err := check.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			t.Logf("%s", out)
		}
	}
	for name, host := range map[string]string{"auction listener": node.AuctionURL, "management listener": node.ManageURL} {
		t.Run(name, script("check.mjs", "HOST="+host))
		t.Run(name+" in a browser", script("browser.mjs", "HOST="+host))
	}
	t.Run("vendors' dialog", script("blocks.mjs", "HOST="+node.ManageURL))
	if err := node.Terminate(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// needNodeJS skips the test without Node.js 20, the oldest version that the scripts support.
func needNodeJS(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	if n, _ := strconv.Atoi(major); err != nil || n < 20 {
		t.Skipf("Node.js 20 or newer is needed; node --version says %q, %v", out, err)
	}
}

func installClients(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(clients, "node_modules", "@topsort", "building-blocks")); err == nil {
		return
	}
	install := exec.CommandContext(t.Context(), "npm", "ci")
	install.Dir = clients
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

// setUpShop creates what check.mjs expects: vendor v1 with money, product p1, and a campaign with a bid on it, which is
// approved because a management key creates it.
func setUpShop(t *testing.T, operator *shop.Client) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(operator.PutVendors(ctx, []shop.Vendor{{ID: "v1", Name: "Vendor One"}}))
	must(operator.PutProducts(ctx, []shop.Product{{ID: "p1", Name: "Product One", Vendors: []string{"v1"}, Categories: []string{}, Price: "12.95"}}))
	must(operator.Deposit(ctx, "v1", 100_000, "deposit"))
	created, err := operator.CreateCampaign(ctx, shop.NewCampaign{
		Vendor: "v1", Name: "Campaign One", ChargeType: "CPC", PriceRule: "second", BudgetMinor: 50_000,
		Bids: []shop.NewBid{{Product: "p1", AmountMinor: 50}},
	}, "campaign")
	must(err)
	if created.Status != "approved" {
		t.Fatalf("created %+v", created)
	}
}

// setUpBanner creates a banner of v1 in slot home-top.
func setUpBanner(s *testClient) {
	s.Helper()
	s.manage(200, "POST", "media-service/slots", `{"slotId":"home-top","position":"landing","dimensions":{"desktop":{"width":1200,"height":300}}}`)
	s.campaign("v1", `"adFormat":"banner"`, `{"target":{"type":"url","id":"https://shop.example/spring"},"amount":900,"formatProperties":`+
		`{"adFormat":"banner","slotId":"home-top","bannerAssets":[{"url":"https://img.example/spring.png","dimensions":{"width":1200,"height":300}}]}}`)
}

func newKey(t *testing.T, kind auth.Kind) string {
	t.Helper()
	key, err := auth.Generate(kind, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key.String()
}
