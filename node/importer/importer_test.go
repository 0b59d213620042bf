package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeNode accepts every row, like a node with the operations that imports use.
type fakeNode struct {
	*httptest.Server
	mu        sync.Mutex
	requests  int
	upserted  map[string]string // Body by id.
	campaigns map[string]string // Vendor and body by Idempotency-Key.
	// before returns a status to answer with instead, or 0. After it, the answer may be lost.
	before func(r *http.Request, body string) int
	lose   func() bool
}

func newFakeNode(t *testing.T) *fakeNode {
	n := &fakeNode{upserted: map[string]string{}, campaigns: map[string]string{}}
	n.Server = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(n.Close)
	return n
}

func (n *fakeNode) serve(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests++
	content, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if n.before != nil {
		if status := n.before(r, string(content)); status != 0 {
			w.WriteHeader(status)
			fmt.Fprint(w, `{"errCode":"refused","message":"is refused"}`)
			return
		}
	}
	if r.Method == http.MethodPost {
		key, campaign := r.Header.Get("Idempotency-Key"), r.URL.Query().Get("vendor_id")+string(content)
		if known, ok := n.campaigns[key]; ok && known != campaign {
			panic("one key for two campaigns")
		}
		n.campaigns[key] = campaign
		w.WriteHeader(http.StatusCreated)
	} else {
		var body map[string][]json.RawMessage
		if json.Unmarshal(content, &body) != nil || len(body["products"])+len(body["vendors"]) > 500 {
			panic("not a body: " + string(content))
		}
		for _, item := range append(body["products"], body["vendors"]...) {
			var named struct{ ID string }
			_ = json.Unmarshal(item, &named) // An item without an id would be missing.
			n.upserted[named.ID] = string(item)
		}
	}
	if n.lose != nil && n.lose() {
		panic(http.ErrAbortHandler)
	}
}

func (n *fakeNode) options(kind, file string) Options {
	return Options{Kind: kind, File: file, URL: n.URL, Key: "k", wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(content)
}

// Each row is sent as the API wants it, or named in the file of errors.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		kind, format, header, row string
		want                      string // The body sent.
		faults                    string // Parts of the file of errors, separated by ;
	}{
		{"catalog", "csv", "id,name,vendors", "p,N,a|b", `{"categories":[],"id":"p","name":"N","vendors":["a","b"]}`, ""},
		{"catalog", "csv", "\ufeffid,name,vendors", "p,N,a", `{"categories":[],"id":"p","name":"N","vendors":["a"]}`, ""},
		{
			"catalog", "csv", "id,name,vendors,categories,brand.id,price,active,metadata", `p,"a ""b""` + "\n" + `c",v,x | y,b,1.50,false,"{""color"":""red""}"`,
			`{"active":false,"brand":{"id":"b"},"categories":["x","y"],"id":"p","metadata":{"color":"red"},"name":"a \"b\"\nc","price":1.50,"vendors":["v"]}`, "",
		},
		{"catalog", "csv", "id,name,vendors", ",N,a", "", `"line":2,"column":"id","message":"is required"`},
		{"catalog", "csv", "id,name,vendors,price", "p,N,a,-1", "", `"column":"price","value":"-1","message":"must be 0 to 1000000000000"`},
		{"catalog", "csv", "id,name,vendors,price", "p,N,a,1e999999999", "", `"must be a number of at most 40 characters"`},
		{"catalog", "csv", "id,name,vendors,price", "p,N,a,.5", "", `"must be a number of at most 40 characters"`},
		{"catalog", "csv", "id,name,vendors,price,active", "p,N,a,NaN,yes", "", `"column":"price";"column":"active","value":"yes","message":"must be true or false"`},
		{"catalog", "csv", "id,name,vendors,ean", "p,N,a,12a", "", `"must have digits only"`},
		{"catalog", "csv", "id,name,vendors", "p," + strings.Repeat("ä", 256) + ",a", "", `ää…","message":"must have 1 to 255 characters, has 256"`},
		{"catalog", "csv", "id,name,vendors", "p,N,|", "", `"column":"vendors","value":"|","message":"must have 1 to 100 items, has 0"`},
		{"catalog", "csv", "id,name,vendors", "p,N", "", `"has 2 cells, the header 3"`},
		{"catalog", "csv", "id,name,vendors", `p,"N"x,a`, "", `"line":2,"message":"extraneous or missing \" in quoted-field"`},
		{"catalog", "csv", "id,name,vendors", "p,\xff,a", "", `"must be UTF-8"`},
		{"catalog", "csv", "id,name,vendors,metadata", "p,N,a,[]", "", `"must be a JSON object"`},
		{"catalog", "csv", "id,name,vendors,metadata", `p,N,a,"{""k"":""` + strings.Repeat("x", 8<<10) + `""}"`, "", `"must have at most 8192 bytes, has 8200"`},
		{"vendors", "csv", "id,name,vendor_role", "v,N,admin", `{"id":"v","name":"N","vendor_role":"admin"}`, ""},
		{"vendors", "csv", "id,name,vendor_role", "v,N,boss", "", `"must be one of admin, analytics"`},
		{
			"campaigns", "csv", "vendorId,name,campaignType,bidProducts,bidAmount,budget.amount", "v&w,N,manual,p|q,35,2000",
			`v&w{"bids":[{"target":{"type":"product","id":"p"},"amount":35},{"target":{"type":"product","id":"q"},"amount":35}],` +
				`"budget":{"amount":2000},"campaignType":"manual","name":"N"}`, "",
		},
		{"campaigns", "csv", "vendorId,name,campaignType", "v,N,manual", "", `"column":"bids","message":"is required, or bidProducts and bidAmount"`},
		{"campaigns", "csv", "vendorId,name,campaignType,bids,bidAmount", "v,N,manual,[{}],1", "", `"cannot be set together with`},
		{"campaigns", "csv", "vendorId,name,campaignType,bids", "v,N,manual,[]", "", `"must have 1 to 500 items, has 0"`},
		{"campaigns", "csv", "vendorId,name,campaignType,bidProducts,bidAmount", "v,N,manual,p,0.5", "", `"must be an integer"`},
		{"campaigns", "csv", "vendorId,name,campaignType,bids,startDate", "v,N,manual,[{}],tomorrow", "", `"must be a time as in 2026-11-23T09:00:00Z"`},
		{"catalog", "ndjson", "", `{"id":"p","name":"N","vendors":["a"],"brand":{"id":"b"},"price":1.10,"ean":null}`, `{"brand":{"id":"b"},"categories":[],"id":"p","name":"N","price":1.10,"vendors":["a"]}`, ""},
		{"catalog", "ndjson", "", `{"id":7,"name":"N","vendors":"a","prize":1}`, "", `"column":"id","value":"7","message":"must be a text";"column":"prize","value":"1","message":"is unknown;"must be a list of texts"`},
		{"catalog", "ndjson", "", `{"id":"p","name":"N","vendors":["a",""]}`, "", `"has an item of 0 characters, must be 1 to 255"`},
		{"catalog", "ndjson", "", `{"id":"p","name":"N","vendors":["a"],"brand":{"title":"b"}}`, "", `"column":"brand.title"`},
		{"catalog", "ndjson", "", `{"id":"p","name":"N","vendors":["a"],"brand":"b"}`, "", `"column":"brand","value":"\"b\"","message":"must be a JSON object"`},
		{"catalog", "ndjson", "", `["p"]`, "", `"line":1,"value":"[\"p\"]","message":"must be a JSON object"`},
		{"catalog", "ndjson", "", `{"id":"` + strings.Repeat("x", rowMax) + `"}`, "", `"the row has more than 4194304 bytes"`},
	} {
		n := newFakeNode(t)
		content := c.row
		if c.header != "" {
			content = c.header + "\n" + c.row
		}
		file := writeFile(t, "f."+c.format, content+"\n")
		r, err := Run(t.Context(), n.options(c.kind, file))
		if err != nil || r.Rows != 1 {
			t.Errorf("%.80s: %+v, %v", c.row, r, err)
		}
		var sent strings.Builder
		for _, m := range []map[string]string{n.upserted, n.campaigns} {
			for _, body := range m {
				sent.WriteString(body)
			}
		}
		if sent.String() != c.want || (r.Failed == 1) != (c.faults != "") {
			t.Errorf("%.80s: %d failed, sent %s\nwant %s", c.row, r.Failed, sent.String(), c.want)
		}
		written := readFile(t, r.Errors)
		for part := range strings.SplitSeq(c.faults, ";") {
			if !strings.Contains(written, part) || part == "" && written != "" {
				t.Errorf("%.80s: %s\nwant %s", c.row, written, part)
			}
		}
	}
}

// What is wrong with the whole file is an error, and nothing is sent.
func TestFileIsRefused(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"f.csv", "", "its first line must name the columns"},
		{"f.csv", "id,name,vendors,prize\n", `line 1: column "prize" is unknown; the columns are id, name,`},
		{"f.csv", "id,name,vendors,id\n", `line 1: column "id" stands there twice`},
		{"f.csv", "id,name\n", `line 1: column "vendors" is missing`},
		{"f.csv", "id,name,vendors\np,\"" + strings.Repeat("x\n", rowMax), "after byte 16: the row has more than 4194304 bytes; is a quote missing?"},
		{"f.txt", "id,name,vendors\n", "--format"},
	} {
		n := newFakeNode(t)
		_, err := Run(t.Context(), n.options("catalog", writeFile(t, c.name, c.content)))
		if err == nil || !strings.Contains(err.Error(), c.want) || n.requests > 0 {
			t.Errorf("%.40q: %v, %d requests, want %s", c.content, err, n.requests, c.want)
		}
	}
}

// many returns a file of rows of which every seventh is wrong, with line ends inside of cells.
func many(kind, format string, rows int) string {
	if format == parquetFormat {
		return parquetOfCSV(many(kind, "csv", rows))
	}
	var b strings.Builder
	headers := map[string]string{"catalog": "id,name,vendors\n", "campaigns": "vendorId,name,campaignType,bidProducts,bidAmount\n"}
	if format == "csv" {
		b.WriteString(headers[kind])
	}
	for i := range rows {
		vendor := "v"
		if i%7 == 3 {
			vendor = ""
		}
		switch {
		case kind == "catalog" && format == "csv":
			fmt.Fprintf(&b, "p%d,\"N\n%d\",%s\r\n", i, i, vendor)
		case kind == "catalog":
			fmt.Fprintf(&b, `{"id":"p%d","name":"N","vendors":["%s"]}`+"\n\n", i, vendor)
		default: // Equal rows are campaigns of their own.
			fmt.Fprintf(&b, "%s,N,manual,p,35\n", vendor)
		}
	}
	return b.String()
}

// An import that is interrupted at any point and repeated sends every row, and creates no campaign twice; each wrong row is
// in the file of errors once, with its line.
func TestInterrupted(t *testing.T) {
	for _, c := range []struct {
		kind, format string
		rows         int
	}{{"catalog", "csv", 4000}, {"catalog", "ndjson", 4000}, {"campaigns", "csv", 100}, {"catalog", parquetFormat, 4000}, {"campaigns", parquetFormat, 100}} {
		undisturbed := newFakeNode(t)
		whole := writeFile(t, "f."+c.format, many(c.kind, c.format, c.rows))
		first, err := Run(t.Context(), undisturbed.options(c.kind, whole))
		if err != nil || first.Failed != int64(c.rows+3)/7 || first.Rows != int64(c.rows) {
			t.Fatalf("%+v, %v", first, err)
		}
		interrupted := 0
		for seed := range uint64(7) {
			random := rand.New(rand.NewPCG(seed, 18))
			n := newFakeNode(t)
			file := writeFile(t, "f."+c.format, many(c.kind, c.format, c.rows))
			runs, done := 0, false
			for ; !done && runs < 1000; runs++ {
				ctx, kill := context.WithCancel(t.Context())
				n.mu.Lock() // The last request of the run before may still be served.
				n.before = func(*http.Request, string) int {
					switch random.IntN(8) {
					case 0:
						kill()
					case 1:
						return http.StatusServiceUnavailable
					case 2:
						return http.StatusTooManyRequests
					}
					return 0
				}
				n.lose = func() bool { return random.IntN(4) == 0 }
				n.mu.Unlock()
				var r Result
				r, err = Run(ctx, n.options(c.kind, file))
				done = err == nil
				kill()
				if done && (r.Rows != first.Rows || r.Failed != first.Failed) {
					t.Errorf("%+v, want %+v", r, first)
				}
			}
			if !done {
				t.Errorf("seed %d: %d runs, %v", seed, runs, err)
			}
			interrupted += runs - 1
			n.Close() // What was sent before an interruption may still be served.
			if len(n.upserted) != len(undisturbed.upserted) || len(n.campaigns) != len(undisturbed.campaigns) || len(n.upserted)+len(n.campaigns) != c.rows-int(first.Failed) {
				t.Errorf("seed %d: %d and %d rows, want %d and %d", seed, len(n.upserted), len(n.campaigns), len(undisturbed.upserted), len(undisturbed.campaigns))
			}
			if got := readFile(t, file+".errors"); got != readFile(t, whole+".errors") {
				t.Errorf("seed %d: other errors:\n%.300s", seed, got)
			}
		}
		if interrupted < 7 {
			t.Errorf("%s, %s: only %d interruptions", c.kind, c.format, interrupted)
		}
	}
}

// The rows that a node refuses fail, whether it names them or not; the others are imported.
func TestNodeRefusesRows(t *testing.T) {
	n := newFakeNode(t)
	n.before = func(_ *http.Request, body string) int {
		if strings.Contains(body, `"p77"`) || strings.Contains(body, `"p1200"`) {
			return http.StatusConflict
		}
		return 0
	}
	file := writeFile(t, "f.csv", strings.ReplaceAll(many("catalog", "csv", 1500), ",\r\n", ",v\r\n"))
	r, err := Run(t.Context(), n.options("catalog", file))
	if err != nil || r.Failed != 2 || len(n.upserted) != 1498 {
		t.Errorf("%+v, %v, %d", r, err, len(n.upserted))
	}
	want := `{"line":156,"message":"is refused"}` + "\n" + `{"line":2402,"message":"is refused"}` + "\n"
	if got := readFile(t, r.Errors); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	a := answer{status: http.StatusUnprocessableEntity}
	mustUnmarshal([]byte(`{"detail":[{"loc":["body","products","7","brand","id"],"msg":"is wrong"},{"loc":["query","x"],"msg":"y"}]}`), &a.body)
	if got := fmt.Sprint(a.faultsByRow("products")); got != "map[7:[{0 brand.id  is wrong}]]" {
		t.Error(got)
	}
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError} {
		n.before = func(*http.Request, string) int { return status }
		o := n.options("catalog", writeFile(t, "f.csv", many("catalog", "csv", 10)))
		if r, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is refused") || r.Rows != 0 {
			t.Errorf("%d: %+v, %v", status, r, err)
		}
	}
}

// A repeat after the end sends what was appended. A catalog that has changed is sent again; campaigns only when asked.
func TestRepeated(t *testing.T) {
	n := newFakeNode(t)
	file := writeFile(t, "f.csv", "vendorId,name,campaignType,bidProducts,bidAmount\nv,N,manual,p,1\n")
	run := func(kind string, restart bool, failed string) Result {
		t.Helper()
		o := n.options(kind, file)
		o.Restart = restart
		r, err := Run(t.Context(), o)
		if err == nil && failed != "" || err != nil && (failed == "" || !strings.Contains(err.Error(), failed)) {
			t.Errorf("%v, want %q", err, failed)
		}
		return r
	}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("campaigns", false, "")
	if r := run("campaigns", false, ""); !r.Nothing || n.requests != 1 {
		t.Errorf("%+v, %d requests", r, n.requests)
	}
	write(readFile(t, file) + "v,N,manual,p,1\n")
	if r := run("campaigns", false, ""); r.Nothing || r.Rows != 2 || len(n.campaigns) != 2 {
		t.Errorf("%+v, %d campaigns", r, len(n.campaigns))
	}
	run("catalog", false, "belongs to an import of campaigns; --restart")
	write(strings.Replace(readFile(t, file), "p,1", "p,2", 1))
	run("campaigns", false, "has changed in the 79 bytes that were imported; --restart")
	if r := run("campaigns", true, ""); r.Rows != 2 || len(n.campaigns) != 4 {
		t.Errorf("%+v, %d campaigns", r, len(n.campaigns))
	}
	write("id,name,vendors\np,N,v\n")
	run("catalog", true, "")
	write("id,name,vendors\np,M,v\nq,,v\n")
	if r := run("catalog", false, ""); r.Rows != 2 || r.Failed != 1 || !strings.Contains(n.upserted["p"], "M") {
		t.Errorf("%+v, %s", r, n.upserted["p"])
	}
	o := n.options("catalog", file)
	o.Errors = file
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another than the imported one") {
		t.Error(err)
	}
	write("")
	if err := os.WriteFile(file+".progress", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("catalog", false, "is no progress file of this version; --restart")
}
