package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/apierr"
)

// The kit is the exchanges of hotpath/testdata, one in each file, for any node. See the README there.

// kit runs the exchanges against base URLs.
type kit struct {
	*testing.T

	bases     []string
	key       string
	manage    string // Base URL of the management listener.
	manageKey string // Management key; without one nothing is created or changed.
}

// The kit runs against a node that the environment names (make conformance), or else a new one, on both listeners.
func TestConformanceKit(t *testing.T) {
	k := &kit{T: t, key: os.Getenv("CONFORMANCE_KEY"), manageKey: os.Getenv("CONFORMANCE_MANAGE_KEY")}
	if base := os.Getenv("CONFORMANCE_BASE_URL"); base != "" {
		k.bases = []string{strings.TrimRight(base, "/")}
		k.manage = strings.TrimRight(os.Getenv("CONFORMANCE_MANAGE_URL"), "/")
		if k.manage == "" {
			k.manage = k.bases[0] // The management listener serves every operation.
		}
	} else {
		node := startNode(t).node
		k.bases = []string{node.AuctionURL, node.ManageURL}
		k.key, k.manage, k.manageKey = node.Keys.AuctionKey, node.ManageURL, node.Keys.ManagementKey
	}
	k.seed()
	for _, e := range kitFiles(t) {
		t.Run(e.name, func(t *testing.T) { k.run(t, e) })
	}
}

// kitExchange is one file.
type kitExchange struct {
	name, method, target, body string
	header                     http.Header
	settings                   string
	status                     int
	answer                     string
}

func kitFiles(t *testing.T) []kitExchange {
	t.Helper()
	files, err := filepath.Glob("hotpath/testdata/*.http")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	var all []kitExchange
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		e := kitExchange{name: strings.TrimSuffix(filepath.Base(file), ".http"), header: http.Header{}}
		sent, expected, good := strings.Cut(string(text), "\n###\n")
		head, body, _ := strings.Cut(sent, "\n\n")
		e.body = repeated(strings.TrimSpace(body))
		for line := range strings.SplitSeq(head, "\n") {
			name, value, isHeader := strings.Cut(line, ": ")
			switch {
			case strings.HasPrefix(line, "#"):
			case e.method == "":
				e.method, e.target, _ = strings.Cut(line, " ")
			case name == "Settings":
				e.settings = value
			case isHeader:
				e.header.Add(name, value)
			}
		}
		status, answer, _ := strings.Cut(expected, "\n")
		if e.status, err = strconv.Atoi(status); err != nil || !good {
			t.Fatalf("%s: no status", file)
		}
		e.answer = strings.TrimSpace(answer)
		all = append(all, e)
	}
	return all
}

var kitRepeat = regexp.MustCompile(`⟨(\d+)×(.*?)⟩`)

// repeated expands ⟨3×x⟩.
func repeated(text string) string {
	return kitRepeat.ReplaceAllStringFunc(text, func(m string) string {
		parts := kitRepeat.FindStringSubmatch(m)
		n, _ := strconv.Atoi(parts[1]) // The pattern matches digits only.
		return strings.Repeat(parts[2], n)
	})
}

// run sends an exchange to every base URL.
func (k *kit) run(t *testing.T, e kitExchange) {
	if e.settings != "" {
		if k.manageKey == "" {
			t.Skip("it changes a setting, which needs a management key")
		}
		defer k.set(t, e.settings)()
	}
	for _, base := range k.bases {
		r := k.send(t, base, e)
		if r.status != e.status {
			t.Fatalf("%s: %d %s, want %d", base, r.status, r.body, e.status)
		}
		for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: %s is %q", base, name, got)
			}
		}
		if r.header.Get("X-Request-Id") == "" || r.header.Get("Access-Control-Allow-Origin") == "" && r.header.Get("Vary") != "Origin" {
			t.Errorf("%s: a header is missing: %v", base, r.header)
		}
		if e.answer == "" {
			if len(r.body) > 0 || e.status != http.StatusNoContent {
				t.Errorf("%s: %s, and the file expects nothing", base, r.body)
			}
			continue
		}
		if got := r.header.Get("Content-Type"); got != "application/json" {
			t.Errorf("%s: Content-Type is %q", base, got)
		}
		if why := differs(t, e.answer, string(r.body)); why != "" {
			t.Errorf("%s: %s\nanswered %s\nwant     %s", base, why, r.body, e.answer)
		}
	}
}

func (k *kit) send(t *testing.T, base string, e kitExchange) reply {
	t.Helper()
	var body io.Reader = strings.NewReader(e.body)
	chunked := e.header.Get("Transfer-Encoding") == "chunked"
	if chunked {
		body = io.MultiReader(body) // Without a known length.
	}
	req, err := http.NewRequestWithContext(t.Context(), e.method, base+e.target, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = e.header.Clone()
	req.Header.Del("Transfer-Encoding")
	switch req.Header.Get("Authorization") {
	case "":
		req.Header.Set("Authorization", "Bearer "+k.key)
	case "none":
		req.Header.Del("Authorization")
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // No redirect is followed.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // It has been read.
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, text}
}

// call is a management request.
func (k *kit) call(t *testing.T, method, path, body string) reply {
	t.Helper()
	return (&kit{key: k.manageKey}).send(t, k.manage, kitExchange{
		method: method, target: "/public/v1/" + path, body: body, header: http.Header{"Content-Type": {"application/json"}},
	})
}

// set changes settings of the marketplace and returns a function that restores them.
func (k *kit) set(t *testing.T, change string) func() {
	t.Helper()
	const path = "marketplace-service/settings"
	var before, changed map[string]json.RawMessage
	if r := k.call(t, "GET", path, ""); r.status != http.StatusOK || json.Unmarshal(r.body, &before) != nil {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if err := json.Unmarshal([]byte(change), &changed); err != nil {
		t.Fatal(err)
	}
	if r := k.call(t, "PATCH", path, change); r.status != http.StatusOK {
		t.Fatalf("%s: %d %s", change, r.status, r.body)
	}
	for name := range changed {
		changed[name] = before[name]
	}
	back, err := json.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if r := k.call(t, "PATCH", path, string(back)); r.status != http.StatusOK {
			t.Errorf("the settings were not put back: %s: %d %s", back, r.status, r.body)
		}
	}
}

// seed creates the market of the exchanges, once.
func (k *kit) seed() {
	k.Helper()
	if k.manageKey == "" {
		return
	}
	text, err := os.ReadFile("hotpath/testdata/seed.txt")
	if err != nil {
		k.Fatal(err)
	}
	names := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		call, body, _ := strings.Cut(strings.TrimSpace(line), " {")
		fields := strings.Fields(call)
		name, method, named := strings.Cut(fields[0], "=")
		if !named {
			method = fields[0]
		}
		body = os.Expand("{"+body, func(n string) string { return names[n] })
		r := k.call(k.T, method, fields[1], body)
		if r.status == http.StatusConflict {
			return // An earlier run created it.
		}
		if strconv.Itoa(r.status) != fields[2] {
			k.Fatalf("%s: %d %s", line, r.status, r.body)
		}
		if id, _ := r.member("id").(string); named {
			names[name] = id
		}
	}
}

// differs describes how an answer differs from the expected one; "<any>" stands for any text that is not empty.
func differs(t *testing.T, want, got string) string {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return err.Error()
	}
	return difference("answer", w, g)
}

func difference(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok || len(have) != len(want) {
			return fmt.Sprintf("%s has other members", path)
		}
		for name := range want {
			if _, there := have[name]; !there {
				return path + " has no " + name
			}
			if why := difference(path+"."+name, want[name], have[name]); why != "" {
				return why
			}
		}
	case []any:
		have, ok := got.([]any)
		if !ok || len(have) != len(want) {
			return fmt.Sprintf("%s has other elements", path)
		}
		for i := range want {
			if why := difference(fmt.Sprintf("%s[%d]", path, i), want[i], have[i]); why != "" {
				return why
			}
		}
	default:
		if text, isText := got.(string); want == "<any>" && isText && text != "" {
			return ""
		}
		if !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("%s is %v, want %v", path, got, want)
		}
	}
	return ""
}

// notRaised are the codes that no auction request of this kit is answered with.
var notRaised = map[apierr.Code]string{
	apierr.RequestCanceled: "nobody is there to read it", apierr.HeadTooLarge: "hotpath/framing_test.go, conformance_transport_test.go",
	apierr.InvalidMarketplace: "a marketplace cannot be suspended through the API: node/serving", apierr.ServiceUnavailable: "cluster_test.go",
	apierr.InternalServerError: "node/serving", apierr.ForbiddenAPIKey: "conformance_keys_test.go",
	apierr.InvalidAuctionID: "reserved", apierr.MissingSession: "reserved", apierr.InvalidSession: "reserved", apierr.TooFewImpressions: "reserved",
	apierr.ResolvedBidIDNotFound: "reserved",
	apierr.InvalidEventTime:      "events", apierr.InvalidEventType: "events", apierr.InvalidResolvedBidID: "events",
	apierr.InvalidUseOfExternalCampaignID: "events", apierr.NoPurchaseItems: "events", apierr.MissingPurchasedAt: "events",
	apierr.PurchaseItemQuantity: "events",
	apierr.InvalidOperation:     "management", apierr.InvalidVendor: "management", apierr.AccountUniqueViolation: "management",
	apierr.InvalidLedgerAccount: "management", apierr.InsufficientBalance: "management", apierr.DifferentCurrencies: "management",
	apierr.EqualFromAndTo: "management", apierr.AlreadyExists: "management", apierr.LimitExceeded: "management", apierr.PayloadTooLarge: "management",
	apierr.UnsupportedMediaType: "management", apierr.TooManyRequests: "management",
	apierr.NotSignedIn: "node/console", apierr.WrongCredentials: "node/console", apierr.ForbiddenRole: "node/console",
	apierr.CrossOrigin: "node/console", apierr.SecondFactorRequired: "node/console",
}

// Every code with which an auction request can be answered has a file with its status, and every kind of result has
// one.
func TestConformanceKitShowsEverything(t *testing.T) {
	shown, shapes := map[string]int{}, map[string]bool{}
	for _, e := range kitFiles(t) {
		var answer struct {
			ErrCode string
			Results []struct{ ResultType string }
		}
		if e.answer != "" && json.Unmarshal([]byte(e.answer), &answer) != nil {
			t.Errorf("%s: the answer is no JSON", e.name)
		}
		if answer.ErrCode != "" {
			shown[answer.ErrCode] = e.status
		}
		for _, r := range answer.Results {
			shapes[r.ResultType] = true
		}
	}
	for c := range apierr.Codes {
		code := apierr.Code(c) // Fewer than 256.
		status, there := shown[code.String()]
		_, absent := notRaised[code]
		switch {
		case code == apierr.OK || absent:
		case !there:
			t.Errorf("no file is answered with %s", code)
		case status != code.Status():
			t.Errorf("%s comes with %d, and the table has %d", code, status, code.Status())
		}
	}
	for _, shape := range []string{"listings", "banners", "external_demand_listings", "brand", "hotels", "flights"} {
		if !shapes[shape] {
			t.Errorf("no file shows a result of type %s: %v", shape, slices.Sorted(maps.Keys(shapes)))
		}
	}
}
