package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const explanation = `{"at":"2026-01-01T00:00:00.000Z","operation":"travel","auctions":[{"resultType":"flights","slots":2,"winners":1,"lost":{"outranked":3},` +
	`"candidates":[{"outcome":"won","rank":1,"price":60.0001,"campaignId":"c-1","bidId":"b-1","vendorId":"v1","type":"product","id":"f1",` +
	`"variationID":"a","chargeType":"CPC","bid":90,"ceiling":150,"worth":90,"shaded":89,"competing":88,"reserve":5,"remaining":1000,"hold":12.5,"wallet":300,"walletHold":20,"pending":0.75,"pacing":0.9,"draw":0.25,"quality":1,"clickRate":0.0312,"learnedQuality":1.5,"score":90},` +
	`{"outcome":"lost","reason":"outranked","demandSource":"dsp","demandBid":0,"type":"product","id":"f\u001b2","chargeType":"CPC",` +
	`"bid":60,"worth":60,"shaded":60,"competing":60,"reserve":5,"pacing":1,"draw":0,"quality":0.5,"clickRate":0.03,"learnedQuality":1,"score":30,"against":{"rank":1,"price":60.0001,"score":90},"needed":181}],"omitted":2},` +
	`{"resultType":"hotels","slots":1,"winners":0,"lost":{},"candidates":[],"omitted":0,"notes":["category kitchen is not in the catalog"]}]}`

func TestExplain(t *testing.T) {
	var got string
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // The body is short.
		got = r.Method + " " + r.RequestURI + " " + r.Header.Get("Authorization") + " " + string(body)
		if strings.Contains(string(body), "wrong") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"errCode":"missing_auctions"}`)
			return
		}
		_, _ = io.WriteString(w, explanation)
	}))
	defer node.Close()
	file := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(file, []byte(`{"auctions":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string) {
		var out strings.Builder
		p := &process{out: &out, err: &out, environ: []string{"GAVEL_MANAGE=" + node.URL, "GAVEL_MANAGE_KEY=secret"}}
		return p.run(append([]string{"explain"}, args...)), out.String()
	}
	code, out := run("--operation", "travel", file)
	if want := `POST /public/v1/auctions/explain?operation=travel Bearer secret {"auctions":[]}`; got != want || code != exitSuccess {
		t.Errorf("%d, sent %s, want %s", code, got, want)
	}
	const table = `auction 0: flights, 1 of 2 slots filled, 3 bids lost
  amounts are minor units (35 is 0.35 EUR); bids, reserve and prices are per click (CPC), 1,000 impressions (CPM) or purchase (CPA)
  OUTCOME      BID ON          VENDOR  CAMPAIGN  BID ID               BID            WORTH  SHADED  COMPETING  RESERVE  LEFT  HOLD  WALLET  WALLET HOLD  PENDING  PACING  DRAW  QUALITY  CLICK RATE  LEARNED  SCORE  PRICE    NEEDED
  won, rank 1  product f1 / a  v1      c-1       b-1                  CPC 90 of 150  90     89      88         5        1000  12.5  300     20           0.75     0.9     0.25  1        0.0312      1.5      90     60.0001  -
  outranked    product f?2     dsp     external  demandSources bid 0  CPC 60         60     60      60         5        -     -     -       -            -        1       0     0.5      0.03        1        30     -        181
  and 2 more bids that lost

auction 1: hotels, 0 of 1 slots filled, 0 bids lost
  category kitchen is not in the catalog
  no bid matches the request
`
	if out != table {
		t.Errorf("printed\n%s\nwant\n%s", out, table)
	}
	if _, out = run("--json", file); out != explanation+"\n" {
		t.Errorf("printed %s", out)
	}
	if err := os.WriteFile(file, []byte(`wrong`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out = run(file); code != exitFailed || !strings.Contains(out, "missing_auctions") {
		t.Errorf("%d %s", code, out)
	}
	if code, out = run(file + ".none"); code != exitUsage {
		t.Errorf("%d %s", code, out)
	}
	if code, out = run("--operation", "events", file); code != exitUsage {
		t.Errorf("%d %s", code, out)
	}
}
