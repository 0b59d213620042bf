package manage_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// counted is a body that counts what is read of it.
type counted struct {
	io.Reader
	read int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

func (c *counted) Close() error { return nil }

// TestRefusalsReadNoBody: a request that is refused for its path, method, key or rate is refused before its body is read.
func TestRefusalsReadNoBody(t *testing.T) {
	w := managetest.NewWith(t, manage.Config{RateManagement: 3})
	const campaigns = "/public/v1/campaign-service/campaigns"
	for _, tc := range []struct {
		name, method, path, key, encoding string
		length                            int64
		status                            int
	}{
		{"management without a key", "POST", campaigns, "", "", 8 << 20, 401},
		{"in chunks", "POST", campaigns, "", "", -1, 401},
		{"gzip", "POST", campaigns, "auction", "gzip", 8 << 20, 403},
		{"over the rate", "POST", campaigns, "auction", "", 8 << 20, 429}, // The fourth request of its address without a valid key.
		{"auctions without a key", "POST", "/v2/auctions", "", "", 4 << 20, 401},
		{"auctions in chunks", "POST", "/v2/auctions", "", "", -1, 401},
		{"auctions with another key", "POST", "/v2/auctions", "management", "", 4 << 20, 403},
		{"no path of /v2", "POST", "/v2/nothing", "auction", "", 4 << 20, 404},
		{"another method", "PUT", "/v2/events", "auction", "", 4 << 20, 405},
		{"a vendor's token elsewhere", "POST", campaigns, "modal", "", 8 << 20, 403},
	} {
		body := &counted{Reader: strings.NewReader(strings.Repeat("x", 8<<20))}
		r := httptest.NewRequest(tc.method, tc.path, body)
		r.ContentLength, r.Body = tc.length, body
		if tc.key != "" {
			r.Header.Set("Authorization", "Bearer "+w.Keys[tc.key])
		}
		if tc.encoding != "" {
			r.Header.Set("Content-Encoding", tc.encoding)
		}
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		if rec.Code != tc.status || body.read > 0 || rec.Header().Get("Connection") != "close" {
			t.Errorf("%s: %d, %d bytes were read, Connection: %q; want %d, nothing read and close",
				tc.name, rec.Code, body.read, rec.Header().Get("Connection"), tc.status)
		}
	}
}

// TestSmallRefusalsKeepTheConnection: small bodies of refused requests are discarded, and the connection stays.
func TestSmallRefusalsKeepTheConnection(t *testing.T) {
	w := managetest.New(t)
	rec := call(w, http.MethodPost, "/public/v1/campaign-service/campaigns", "auction", `{}`)
	if rec.Code != 403 || rec.Header().Get("Connection") != "" {
		t.Errorf("%d, Connection: %q", rec.Code, rec.Header().Get("Connection"))
	}
}

// TestBudgetOfManagementBodies: a body that exceeds the budget after decompression is refused with 503, and its rest is not read.
func TestBudgetOfManagementBodies(t *testing.T) {
	w := managetest.NewWith(t, manage.Config{RateManagement: 1000})
	lease := w.Bodies.Lease(managetest.Main)
	defer lease.Release()
	if !lease.Grow(35 << 20) { // It leaves 1 MiB to the marketplace.
		t.Fatal("the budget is smaller than this test thinks")
	}
	used := func(from string) {
		t.Helper()
		if s := w.Bodies.Stats(); s.Used != 35<<20 {
			t.Errorf("%s: %+v", from, s)
		}
	}
	for name, tc := range map[string]struct{ path, key, encoding string }{
		"management": {"/public/v1/campaign-service/campaigns", "management", ""},
		"gzip":       {"/public/v1/campaign-service/campaigns", "management", "gzip"},
		"/v2":        {"/v2/auctions", "auction", ""},
	} {
		text := []byte(strings.Repeat(" ", 3<<20))
		if tc.encoding != "" {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(text)
			_ = z.Close()
			text = b.Bytes()
		}
		body := &counted{Reader: bytes.NewReader(text)}
		r := httptest.NewRequest(http.MethodPost, tc.path, body)
		r.ContentLength, r.Body = -1, body
		r.Header.Set("Authorization", "Bearer "+w.Keys[tc.key])
		r.Header.Set("Content-Encoding", tc.encoding)
		if tc.encoding == "" {
			r.Header.Del("Content-Encoding")
		}
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		if rec.Code != 503 || rec.Header().Get("Retry-After") == "" || rec.Header().Get("Connection") != "close" || body.read > 2<<20 {
			t.Errorf("%s: %d, %v, %d bytes were read", name, rec.Code, rec.Header(), body.read)
		}
		used(name)
	}
	if rec := call(w, http.MethodPost, "/v2/auctions", "auction", strings.Repeat(" ", 100_000)); rec.Code != 400 {
		t.Errorf("a body that fits: %d", rec.Code)
	}
	used("a body that fits")
}
