package admin_test

import (
	"encoding/json"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/delivery"
	"github.com/gavel-ads/gavel/node/manage"
	"github.com/gavel-ads/gavel/node/manage/managetest"
)

const base = "/public/v1/webhooks/webhooks"

func callWebhook(t *testing.T, w *managetest.Environment, method, path, body string, want int) map[string]any {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	if rec.Code != want {
		t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
	}
	var out map[string]any
	if rec.Body.Len() > 0 {
		if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// receiver is a client's server. It answers with the given statuses in order, and then always with the last one.
type receiver struct {
	*httptest.Server
	before   func() // Is called before each answer, unless it is nil.
	mu       sync.Mutex
	statuses []int
	bodies   []string
	signed   []string
}

func newReceiver(t *testing.T, statuses ...int) *receiver {
	t.Helper()
	r := &receiver{statuses: statuses}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	if r.before != nil {
		r.before()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies, r.signed = append(r.bodies, string(body)), append(r.signed, req.Header.Get(delivery.SignatureHeader))
	w.WriteHeader(r.statuses[0])
	if len(r.statuses) > 1 {
		r.statuses = r.statuses[1:]
	}
}

func (r *receiver) got() (bodies, signed []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.bodies...), append([]string(nil), r.signed...)
}

func newEnvironment(t *testing.T) *managetest.Environment {
	t.Helper()
	return managetest.NewWith(t, manage.Config{Development: true})
}

// asset creates an external asset and approves it, which causes a notification.
func asset(t *testing.T, w *managetest.Environment) {
	t.Helper()
	callWebhook(t, w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"Acme"}]}`, 200)
	a := callWebhook(t, w, "POST", "/public/v1/assets/asset?vendor_id=v1", `{"name":"A","externalUrl":"https://example.com/a.png"}`, 201)
	callWebhook(t, w, "POST", "/public/v1/assets/asset/"+a["id"].(string)+"/review", `{"status":"approved"}`, 200)
}

func log(t *testing.T, w *managetest.Environment, hook map[string]any) []any {
	t.Helper()
	return callWebhook(t, w, "GET", base+"/"+hook["id"].(string)+"/deliveries", "", 200)["deliveries"].([]any)
}

// TestDelivery: a change is notified after it is made, with a signature over the sent bytes, and the log contains it for a day.
func TestDelivery(t *testing.T) {
	w, r := newEnvironment(t), newReceiver(t, 204)
	hook := callWebhook(t, w, "POST", base, `{"url":"`+r.URL+`/hook","channel":"asset:status"}`, 201)
	secret := hook["secret"].(string)
	if len(secret) != 26 {
		t.Errorf("the secret is %q", secret)
	}
	asset(t, w)
	if at := log(t, w, hook); len(at) != 1 || at[0].(map[string]any)["status"] != "pending" {
		t.Errorf("before: %v", at)
	}
	w.Work(t)
	bodies, signed := r.got()
	if len(bodies) != 1 || signed[0] != delivery.Signature(secret, []byte(bodies[0])) {
		t.Fatalf("%d notices, signed %v", len(bodies), signed)
	}
	var notice struct {
		Channel, Timestamp, ID string
		Payload                map[string]string
	}
	if err := json.Unmarshal([]byte(bodies[0]), &notice); err != nil {
		t.Fatal(err)
	}
	if notice.Channel != "asset:status" || notice.Timestamp != "2026-03-17T09:30:00.000Z" || notice.Payload["status"] != "approved" || notice.Payload["vendor_id"] != "v1" {
		t.Errorf("%s", bodies[0])
	}
	at := log(t, w, hook)[0].(map[string]any)
	if at["status"] != "delivered" || at["id"] != notice.ID || at["attempts"] != 1.0 {
		t.Errorf("after: %v", at)
	}
	w.Advance(24 * time.Hour)
	w.Work(t)
	if at := log(t, w, hook); len(at) != 0 {
		t.Errorf("a day later: %v", at)
	}
}

// TestRetries: temporary failures are repeated five times within a minute, with doubling waits and always with the same body, also
// when each answer takes a second.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name     string
		statuses []int
		attempts int
		status   string
	}{
		{"a receiver that comes back", []int{500, 429, 200}, 3, "delivered"},
		{"one that does not", []int{503}, 6, "failed"},
		{"one that refuses", []int{410}, 1, "failed"},
		{"one that sends elsewhere", []int{302}, 1, "failed"},
	} {
		w, r := newEnvironment(t), newReceiver(t, c.statuses...)
		r.before = func() { w.Advance(time.Second) }
		hook := callWebhook(t, w, "POST", base, `{"url":"`+r.URL+`","channel":"asset:status"}`, 201)
		asset(t, w)
		began := w.Now()
		var waits []int
		for last, seconds := 0, 0; seconds <= 120; seconds++ {
			w.Work(t)
			if bodies, _ := r.got(); len(bodies) > last {
				last = len(bodies)
				waits = append(waits, int(w.Now().Sub(began).Seconds()))
			}
			w.Advance(time.Second)
		}
		bodies, _ := r.got()
		for _, b := range bodies {
			if b != bodies[0] {
				t.Errorf("%s: a repeat differs: %s", c.name, b)
			}
		}
		at := log(t, w, hook)[0].(map[string]any)
		if len(bodies) != c.attempts || at["attempts"] != float64(c.attempts) || at["status"] != c.status || waits[len(waits)-1] > 60 {
			t.Errorf("%s: %d attempts after %v s, log %v", c.name, len(bodies), waits, at)
		}
	}
}

// TestTestNotices: a test is sent to a webhook of any channel, signed like a change, and its result is in the log. While one is to be
// sent, another is refused; afterwards it is not.
func TestTestNotices(t *testing.T) {
	w, r := newEnvironment(t), newReceiver(t, 503, 204)
	hook := callWebhook(t, w, "POST", base, `{"url":"`+r.URL+`","channel":"bid:delete"}`, 201)
	test := base + "/" + hook["id"].(string) + "/test"
	sent := callWebhook(t, w, "POST", test, "", 202)
	w.Work(t)
	refused := callWebhook(t, w, "POST", test, "", 409) // It is repeated in 2 s.
	if refused["errCode"] != "invalid_operation" {
		t.Errorf("%v", refused)
	}
	w.Advance(2 * time.Second)
	w.Work(t)
	bodies, signed := r.got()
	if len(bodies) != 2 || bodies[0] != bodies[1] || signed[1] != delivery.Signature(hook["secret"].(string), []byte(bodies[1])) {
		t.Fatalf("%q, signed %q", bodies, signed)
	}
	var notice struct {
		Channel, ID string
		Payload     struct{ WebhookID, Channel string }
	}
	if err := json.Unmarshal([]byte(bodies[0]), &notice); err != nil {
		t.Fatal(err)
	}
	if notice.Channel != "webhook:test" || notice.ID != sent["id"] || notice.Payload.WebhookID != hook["id"] || notice.Payload.Channel != "bid:delete" {
		t.Errorf("%s", bodies[0])
	}
	if at := log(t, w, hook); len(at) != 1 || at[0].(map[string]any)["status"] != "delivered" || at[0].(map[string]any)["channel"] != "webhook:test" {
		t.Errorf("%v", at)
	}
	callWebhook(t, w, "POST", test, "", 202)
}

// TestWithoutWebhook: without a webhook nothing is queued; deleting a webhook drops its queued notifications; a notification that
// could not be sent for ten minutes is given up.
func TestWithoutWebhook(t *testing.T) {
	w, r := newEnvironment(t), newReceiver(t, 200)
	asset(t, w)
	hook := callWebhook(t, w, "POST", base, `{"url":"`+r.URL+`","channel":"asset:status"}`, 201)
	asset(t, w)
	w.Advance(10*time.Minute + time.Second)
	w.Work(t)
	if at := log(t, w, hook)[0].(map[string]any); at["status"] != "failed" {
		t.Errorf("after ten minutes: %v", at)
	}
	asset(t, w)
	callWebhook(t, w, "DELETE", base+"/"+hook["id"].(string), "", 204)
	w.Work(t)
	if bodies, _ := r.got(); len(bodies) > 0 {
		t.Errorf("notified: %v", bodies)
	}
	if text := w.Log(); text != "" {
		t.Errorf("logged: %s", text)
	}
}

// TestReasonsNameNoAddress: the API shows only the kind of a failed delivery. The addresses that a name resolved to
// are in the node's log alone.
func TestReasonsNameNoAddress(t *testing.T) {
	closed := newReceiver(t, 200)
	closed.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(cut.Close)
	secure := httptest.NewTLSServer(http.NotFoundHandler()) // Its certificate is not trusted.
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = quiet
	for _, c := range []struct{ url, want, cause string }{
		{closed.URL, "connection refused", "dial tcp 127.0.0.1:"},
		{cut.URL, "connection closed", "EOF"},
		{secure.URL, "the TLS handshake failed", "certificate"},
		{newReceiver(t, 503).URL, "the receiver answered 503", "503"},
		{newReceiver(t, 404).URL, "the receiver refused with 404", "404"},
	} {
		w := newEnvironment(t)
		hook := callWebhook(t, w, "POST", base, `{"url":"`+c.url+`","channel":"asset:status"}`, 201)
		asset(t, w)
		w.Work(t)
		at := log(t, w, hook)[0].(map[string]any)
		if at["reason"] != c.want || at["attempts"] != 1.0 {
			t.Errorf("%s: %v, want the reason %q", c.url, at, c.want)
		}
		if !strings.Contains(w.Log(), "delivery_failed") || !strings.Contains(w.Log(), c.cause) {
			t.Errorf("%s: the log does not name the cause %q:\n%s", c.url, c.cause, w.Log())
		}
	}
}

// quiet discards the log of failed handshakes.
var quiet = stdlog.New(io.Discard, "", 0)
