package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// click is a click that a storefront reports, and what was answered last.
type click struct {
	body   string
	status int
}

// storefront reports clicks, as many at once as it has, and remembers the answers.
type storefront struct {
	*shop
	clicks []click
}

// win runs auctions and keeps a click on each winner.
func (f *storefront) win(auctions int) {
	f.Helper()
	for range auctions {
		for _, body := range f.wins() {
			f.clicks = append(f.clicks, click{body: body})
		}
	}
}

// send reports clicks from..to to an auction listener.
func (f *storefront) send(auction string, from, to int) {
	for i := from; i < to; i++ {
		code, _, err := f.ask(http.MethodPost, auction+"/v2/events", f.keys.AuctionKey, f.clicks[i].body)
		if err != nil {
			f.Error(err)
			return
		}
		f.clicks[i].status = code
	}
}

// answered counts the clicks with a status.
func (f *storefront) answered(status int) (n int) {
	for i := range f.clicks {
		if f.clicks[i].status == status {
			n++
		}
	}
	return n
}

// While clicks arrive, a marketplace is closed, backed up, and opened in a new cell. Every click is answered 200 or 503; all are
// reported again to the new cell; it then has each of them once, and the old cell has those that it answered 200.
func TestAMarketplaceMovesToAnotherCell(t *testing.T) {
	dir := t.TempDir()
	s, _ := openShop(t, dir)
	f := &storefront{shop: s}
	other := f.addMarketplace("stays")
	f.win(60)
	if len(f.clicks) < 100 {
		t.Fatalf("%d clicks; the test needs more", len(f.clicks))
	}
	first := f.first()
	backup := filepath.Join(dir, "move.bak")

	half, last := len(f.clicks)/2, len(f.clicks)-1
	f.send(f.auction, 0, half)
	var sending sync.WaitGroup
	sending.Go(func() { f.send(f.auction, half, last) })
	moved := s.mustRun(s.environ, "cells", "move", first, "--out", backup)
	sending.Wait()
	f.send(f.auction, last, last+1) // One at least is refused, however fast the others were.
	if !strings.Contains(moved.out, "gavel restore --in "+backup+" --only "+first) {
		t.Errorf("move: %s%s", moved.out, moved.err)
	}
	accepted := f.answered(200)
	if accepted+f.answered(503) != len(f.clicks) || f.answered(503) == 0 {
		t.Fatalf("of %d clicks %d were answered 200, %d 503", len(f.clicks), accepted, f.answered(503))
	}
	f.expectClosed(s.manage, s.auction, other)

	f.refusedRestores(dir, backup, other.MarketplaceID)
	into := filepath.Join(dir, "second")
	r := s.mustRun(nil, "restore", "--data-dir", into, "--in", backup, "--only", first)
	if strings.Contains(r.out, "are lost") || !strings.Contains(r.out, "all others are closed") {
		t.Errorf("restore: %s", r.out)
	}
	out := &output{}
	manage, _ := runNodeTo(t, out, "serve", "--data-dir="+into)
	auction := auctionListener(t, out, manage)
	f.send(auction, 0, len(f.clicks))
	if f.answered(200) != len(f.clicks) {
		t.Errorf("the new cell answers %d of %d clicks with 200", f.answered(200), len(f.clicks))
	}
	f.expectCounted(manage, len(f.clicks))
	f.expectCounted(s.manage, accepted)
	if body := f.call(http.MethodPost, auction+"/v2/auctions", f.keys.AuctionKey, `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p1","p2"]}}]}`); !strings.Contains(body, "resolvedBidId") {
		t.Errorf("an auction in the new cell: %s", body)
	}
	if code, body := f.status(http.MethodPost, auction+"/v2/auctions", other.AuctionKey, `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p1"]}}]}`); code != 503 {
		t.Errorf("an auction of the marketplace that stays, in the new cell: %d %s", code, body)
	}
}

// made is the answer to a new marketplace.
type made struct{ MarketplaceID, AuctionKey, ManagementKey string }

func (f *storefront) addMarketplace(name string) (m made) {
	f.Helper()
	body := f.call(http.MethodPost, f.manage+"/public/v1/marketplace-service/marketplaces", f.keys.ManagementKey,
		fmt.Sprintf(`{"name":%q,"currencyCode":"EUR"}`, name))
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		f.Fatal(err)
	}
	return m
}

// first returns the id of the first marketplace, which is the oldest.
func (f *storefront) first() string {
	f.Helper()
	all := regexp.MustCompile(`"marketplaceId":"([^"]+)"`).FindAllStringSubmatch(
		f.call(http.MethodGet, f.manage+"/public/v1/marketplace-service/marketplaces", f.keys.ManagementKey, ""), -1)
	if len(all) != 2 {
		f.Fatalf("%d marketplaces", len(all))
	}
	return all[1][1]
}

// expectClosed checks that the old cell answers nothing of the moved marketplace but reads, and serves the other one.
func (f *storefront) expectClosed(manage, auction string, other made) {
	f.Helper()
	const vendors, one = "/public/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"late","name":"Late"}]}`
	const listing = `{"auctions":[{"type":"listings","slots":1,"products":{"ids":["p1"]}}]}`
	for _, x := range []struct {
		method, url, key, body string
		want                   int
	}{
		{http.MethodPost, auction + "/v2/auctions", f.keys.AuctionKey, listing, 503},
		{http.MethodPut, manage + vendors, f.keys.ManagementKey, one, 503},
		{http.MethodGet, manage + vendors, f.keys.ManagementKey, "", 200},
		{http.MethodPost, auction + "/v2/auctions", other.AuctionKey, listing, 201},
		{http.MethodPut, manage + vendors, other.ManagementKey, one, 200},
	} {
		code, body := f.status(x.method, x.url, x.key, x.body)
		if code != x.want || code == 503 && !strings.Contains(body, "moved to another cell") {
			f.Errorf("%s %s: %d %s, want %d", x.method, x.url, code, body, x.want)
		}
	}
}

// refusedRestores asks for marketplaces that the backup does not have, or that were open in it.
func (f *storefront) refusedRestores(dir, backup, open string) {
	f.Helper()
	for only, want := range map[string]string{
		"first": "want its id", "01931c5e-7f2a-7000-8000-000000000001": "there is no marketplace", open: "is open in group",
	} {
		r := gavel(nil, "restore", "--data-dir", filepath.Join(dir, "refused"), "--in", backup, "--only", only)
		if r.code == exitSuccess || !strings.Contains(r.err, want) {
			f.Errorf("--only %s: code %d: %s", only, r.code, r.err)
		}
	}
}

var clicksTotal = regexp.MustCompile(`"clicks":\{"total":(\d+),`)

// expectCounted waits until a node's report has a number of clicks; it may not have more. Reports are asked for rarely: their CPU
// time is bounded, and a slow machine uses it up.
func (f *storefront) expectCounted(manage string, want int) {
	f.Helper()
	got := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		_, got = f.status(http.MethodGet, reportAt(manage), f.keys.ManagementKey, "")
		if found := clicksTotal.FindStringSubmatch(got); found != nil && found[1] == fmt.Sprint(want) {
			return
		}
	}
	f.Errorf("%d clicks are not counted: %s", want, got)
}

// auctionListener returns the address of auctions that a start has printed.
func auctionListener(t *testing.T, out *output, manage string) string {
	t.Helper()
	for _, found := range regexp.MustCompile(`http://[0-9.]+:[0-9]+`).FindAllString(out.String(), -1) {
		if found != manage {
			return found
		}
	}
	t.Fatalf("no auction listener in\n%s", out)
	return ""
}

// A backup that fails opens the marketplace again, unless an earlier move had closed it: it may be open elsewhere by now. A move can
// be given up.
func TestAMoveCanBeGivenUp(t *testing.T) {
	dir := t.TempDir()
	s, _ := openShop(t, dir)
	f := &storefront{shop: s}
	f.addMarketplace("stays")
	first := f.first()
	nowhere := filepath.Join(dir, "none", "move.bak")
	if r := gavel(s.environ, "cells", "move", first, "--out", nowhere); r.code != exitFailed || !strings.Contains(r.out, "opened "+first+" again") {
		t.Errorf("a place that does not exist: code %d: %s%s", r.code, r.out, r.err)
	}
	f.win(1)
	s.mustRun(s.environ, "cells", "move", first, "--out", filepath.Join(dir, "move.bak"))
	if r := gavel(s.environ, "cells", "move", first, "--out", nowhere); r.code != exitFailed || !strings.Contains(r.err, "stays closed") {
		t.Errorf("a second move that fails: code %d: %s%s", r.code, r.out, r.err)
	}
	if code, body := f.status(http.MethodPost, s.auction+"/v2/events", s.keys.AuctionKey, f.clicks[0].body); code != 503 {
		t.Errorf("closed: %d %s", code, body)
	}
	s.mustRun(s.environ, "cells", "open", first)
	f.send(s.auction, 0, len(f.clicks))
	if f.answered(200) != len(f.clicks) {
		t.Errorf("opened: %d of %d clicks are answered 200", f.answered(200), len(f.clicks))
	}
	if r := gavel(s.environ, "cells", "move", "first", "--out", filepath.Join(dir, "x.bak")); r.code != exitUsage || !strings.Contains(r.err, "want its id") {
		t.Errorf("no id: code %d: %s", r.code, r.err)
	}
}
