package daemon

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// received is what a collector got.
type received struct {
	mu    sync.Mutex
	spans []*spans.Span
	nodes []string
	paths []string
}

func (c *received) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil && r.Header.Get("Content-Encoding") == "gzip" {
		var plain *gzip.Reader
		if plain, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(plain)
		}
	}
	var message collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &message) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths = append(c.paths, r.URL.Path)
	for _, of := range message.GetResourceSpans() {
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.instance.id" {
				c.nodes = append(c.nodes, a.GetValue().GetStringValue())
			}
		}
		for _, scope := range of.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

// named returns the spans of a name.
func (c *received) named(name string) (some []*spans.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.GetName() == name {
			some = append(some, s)
		}
	}
	return some
}

func attributes(s *spans.Span) map[string]string {
	all := map[string]string{}
	for _, a := range s.GetAttributes() {
		all[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return all
}

// A change through the management API is one trace: the caller's, the request's and that of its commits. An event has its commit. Paths,
// which have ids of people in them, and keys are in none of them.
func TestTracesOfANode(t *testing.T) {
	c := &received{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	cfg := testConfig(t.TempDir(), 1)
	cfg.NodeID, cfg.Tracing.Endpoint, cfg.Tracing.Every = "n7", server.URL, 1
	r := run(t, cfg, Options{})

	const parent = "0af7651916cd43dd8448eb211c80319c"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, r.manage+"/public/v1/catalog-search-service/catalogs/vendors",
		strings.NewReader(`{"vendors":[{"id":"v1","name":"Acme"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.keys.Management)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-"+parent+"-b7ad6b7169203331-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	r.call(http.MethodGet, r.manage+"/public/v1/campaign-service/campaigns?vendor_id=somebody", r.keys.Management, "")
	r.must(http.StatusOK, http.MethodPost, r.auction+"/v2/events", r.keys.Auction,
		fmt.Sprintf(`{"pageviews":[{"id":"view-1","occurredAt":%q,"opaqueUserId":"u","page":{"type":"home","pageId":"h"}}]}`, time.Now().UTC().Format(time.RFC3339Nano)))
	r.stop() // What waits is sent.

	listed := c.named("listCampaigns")
	if len(listed) != 1 {
		t.Fatalf("%d spans of a list", len(listed))
	}
	if a := attributes(listed[0]); a["http.request.method"] != "GET" || !strings.HasSuffix(a["http.route"], "/campaign-service/campaigns") || a["gavel.request_id"] == "" {
		t.Errorf("a list has %v", a)
	}
	below := 0
	for _, s := range c.named("commit") {
		if hex.EncodeToString(s.GetTraceId()) == parent {
			below++
		}
	}
	if below == 0 || below == len(c.named("commit")) {
		t.Errorf("%d of %d commits belong to the traced change, want some, and the event's not", below, len(c.named("commit")))
	}
	for _, path := range c.paths {
		if path != "/v1/traces" {
			t.Errorf("traces were sent to %s", path)
		}
	}
	if len(c.nodes) == 0 || c.nodes[0] != "n7" {
		t.Errorf("traces of %v", c.nodes)
	}
	for _, s := range c.spans {
		if text := s.String(); strings.Contains(text, "somebody") || strings.Contains(text, r.keys.Management) {
			t.Errorf("a span names what it must not: %s", text)
		}
	}
}

// A collector that does not answer delays nothing and stops nobody.
func TestCollectorThatIsAway(t *testing.T) {
	cfg := testConfig(t.TempDir(), 1)
	cfg.Log.Level = "warn"
	cfg.Tracing.Endpoint, cfg.Tracing.Every = "http://127.0.0.1:1", 1
	log := &output{}
	r := run(t, cfg, Options{Log: log})
	r.must(http.StatusOK, http.MethodGet, r.manage+"/public/v1/campaign-service/campaigns", r.keys.Management, "")
	r.stop()
	if n := strings.Count(log.String(), `"traces_not_sent"`); n != 1 {
		t.Errorf("%d lines about it in the log, want 1:\n%s", n, log)
	}
}
