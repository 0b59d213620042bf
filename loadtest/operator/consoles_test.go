package main

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Every request of the table is repeated as often as the page in web/ repeats it, and no page that polls is missing from the table except
// those that are named here with a reason.
func TestTheIntervalsAreThoseOfThePages(t *testing.T) {
	const pages = "../../web/src/pages"
	left := map[string]string{
		"Audiences.tsx": "sizes of segments", "OffsiteAudiences.tsx": "only while a job runs", "Webhooks.tsx": "only while deliveries are shown",
		"CampaignHours.tsx": "instead of the reads of CampaignPerformance.tsx, and less often",
		"RecentFill.tsx":    "where somebody changes slots or placements: a count of at most 10,000 recorded requests",
	}
	interval := regexp.MustCompile(`(?:every: |everyMillis = )([0-9_]+)`)
	stated := map[string]map[time.Duration]bool{}
	files, err := filepath.Glob(pages + "/*.tsx")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range interval.FindAllStringSubmatch(string(text), -1) {
			millis, err := strconv.Atoi(strings.ReplaceAll(found[1], "_", ""))
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(file)
			if stated[name] == nil {
				stated[name] = map[time.Duration]bool{}
			}
			stated[name][time.Duration(millis)*time.Millisecond] = true
		}
	}
	measured := map[string]bool{}
	for _, page := range consolePages {
		for _, read := range page.reads {
			measured[read.source] = true
			if !stated[read.source][read.every] {
				t.Errorf("%s: %s is repeated every %v, but the page states %v", page.name, read.source, read.every, stated[read.source])
			}
		}
	}
	for name := range stated {
		if !measured[name] && left[name] == "" {
			t.Errorf("%s polls and is not measured", name)
		}
	}
}

func TestTheMixOfPages(t *testing.T) {
	all, known := pagesOf("", 20)
	if text := describe(all); !known || text != "6 overview, 4 live auctions, 1 events, 1 explained auctions, 4 campaigns, 2 one campaign, 1 one vendor, 1 cluster" {
		t.Errorf("20 consoles show %s", text)
	}
	if all, known := pagesOf("live auctions", 3); !known || describe(all) != "3 live auctions" {
		t.Errorf("%v", all)
	}
	if all, known := pagesOf("", 0); !known || len(all) != 0 {
		t.Errorf("%v", all)
	}
}

func TestQuantilesOfPairs(t *testing.T) {
	values := []float64{4, 1, 3, 2}
	for q, want := range map[float64]float64{0: 1, 0.5: 2.5, 1: 4, 0.25: 1.75} {
		if got := quantile(values, q); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("no values have a quantile")
	}
}

// fakeConsole is a node whose console streams three messages and answers reads.
type fakeConsole struct {
	mu    sync.Mutex
	asked map[string]int
}

func (f *fakeConsole) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked[r.Method+" "+r.URL.RequestURI()]++
	f.mu.Unlock()
	switch {
	case r.Method == http.MethodPost:
		http.SetCookie(w, &http.Cookie{Name: "gavel_session", Value: "s"})
		_, _ = fmt.Fprint(w, `{}`)
	case r.Header.Get("Cookie") != "gavel_session=s":
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasSuffix(r.URL.Path, "/session"):
		_, _ = fmt.Fprint(w, `{"marketplaces":[{"id":"m1"}]}`)
	case strings.HasSuffix(r.URL.Path, "/live"):
		_, _ = fmt.Fprintf(w, "event: auction\ndata: %s\n\nevent: rates\ndata: {}\n\n", strings.Repeat("x", 100_000))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		_, _ = fmt.Fprint(w, `{"recent":[{"at":"2026-01-01T00:00:00.000Z"},{"at":"2025-01-01T00:00:00.000Z"}]}`)
	}
}

// Open consoles follow their streams and repeat their reads with the session, the marketplace and the newest time, and stop when closed.
func TestOpenConsolesAskAsPagesDo(t *testing.T) {
	fake := &fakeConsole{asked: map[string]int{}}
	node := httptest.NewServer(fake)
	defer node.Close()
	page := &consolePage{name: "test", stream: liveStream, reads: []consoleRead{{"/recent?c={campaign}" + afterNewest, time.Millisecond, ""}}}
	o, err := newConsoleSet(t.Context(), node.URL, []*consolePage{page, page}, map[string]string{"campaign": "c1"})
	if err != nil {
		t.Fatal(err)
	}
	closeAll := o.open(t.Context())
	const later = "GET /console/api/recent?c=c1&after=2026-01-01T00%3A00%3A00.000Z"
	for asked := 0; asked == 0 || o.samples.Load() < 2 || o.messages.Load() < 2 || o.reads.Load() < 4; time.Sleep(time.Millisecond) {
		fake.mu.Lock()
		asked = fake.asked[later]
		fake.mu.Unlock()
	}
	if err := closeAll(); err != nil {
		t.Error(err)
	}
	fake.mu.Lock()
	if n := fake.asked["GET /console/api/live?marketplace=m1"]; n != 2 || o.samples.Load() != 2 || o.messages.Load() != 2 {
		t.Errorf("%d streams were opened: %v", n, fake.asked)
	}
	fake.mu.Unlock()
	o.sessions[0].cookie.Value = "ended"
	if err := o.follow(t.Context(), o.sessions[0], liveStream); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a stream that is refused: %v", err)
	}
	if err := o.poll(t.Context(), o.sessions[0], page.reads[0]); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a read that is refused: %v", err)
	}
}

// The windows of a measurement are what happened between its two readings, and pairs alternate.
func TestThePairsOfAMeasurement(t *testing.T) {
	var out bytes.Buffer
	m := &consoleMeasurement{set: &consoleSet{pages: []*consolePage{{}}}}
	for i := range 4 {
		window := consoleWindow{took: time.Second, cpu: 100 * time.Millisecond, requests: 5_000, reads: 1}
		m.closed = append(m.closed, window)
		window.cpu += time.Duration(i+1) * time.Millisecond
		m.open = append(m.open, window)
	}
	if err := m.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ratio: median 1.0250,", "at most 1.02: missed", "cost median 2.50,", "at 6250 a second"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	m.open[0].reads, m.open[1].reads, m.open[2].reads, m.open[3].reads = 0, 0, 0, 0
	if err := m.print(&out); err == nil {
		t.Error("consoles that were answered nothing are no measurement")
	}
	if _, err := signIn(t.Context(), "http://127.0.0.1:1", "a", "b"); err == nil {
		t.Error("a node that is away signs in")
	}
}
