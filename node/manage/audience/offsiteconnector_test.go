package audience_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/delivery"
	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// network is a connector that fails some times before it accepts a job.
type network struct {
	mu    sync.Mutex
	fails int
	taken []jobs.JobRequest
}

func (n *network) Send(_ context.Context, _ store.Tenant, h jobs.JobRequest) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fails > 0 {
		n.fails--
		return errors.New("not now")
	}
	n.taken = append(n.taken, h)
	return nil
}

const hashRow = "hashed_email\n0000000000000000000000000000000000000000000000000000000000000000\n"

// TestNetworksReport: a job of two networks completes when both have reported under their names, the audience lists the networks that
// have its list, and a job that is over accepts no report.
func TestNetworksReport(t *testing.T) {
	w := managetest.New(t)
	google, tiktok := &network{fails: 2}, &network{}
	w.Offsite.Connectors = map[string]jobs.Connector{"google_ads": google, "tiktok_ads": tiktok}
	a := offsiteAudience(t, w, `"google_ads","tiktok_ads","snapchat_ads"`)
	job := a["jobId"].(string)
	report := func(body string, want int) map[string]any {
		t.Helper()
		return must(t, w, "PATCH", base+"/jobs/"+job, body, want)
	}
	report(`{"status":"completed"}`, 409) // There is no list yet.
	put(t, w, a["url"].(string), strings.NewReader(hashRow), 200)
	w.Work(t)
	if got := status(t, w, job); got != "retrying" {
		t.Errorf("after a failure: %s", got)
	}
	w.Advance(5 * time.Second)
	w.Work(t)
	w.Advance(10 * time.Second)
	w.Work(t)
	if len(google.taken) != 1 || len(tiktok.taken) != 1 || status(t, w, job) != "in_progress" {
		t.Fatalf("taken %d and %d, %s", len(google.taken), len(tiktok.taken), status(t, w, job))
	}
	h := tiktok.taken[0]
	if h.DSP != "tiktok_ads" || h.VendorID != "v1" || h.Audience.Size != 1 || h.RequestType != store.JobAudience {
		t.Errorf("%+v", h)
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, httptest.NewRequest("GET", strings.TrimPrefix(h.Audience.URL, managetest.PublicURL), nil))
	if want := strings.Join(jobs.ListColumns[:], ",") + "\n" + strings.Repeat("0", 64) + ",,,,\n"; rec.Body.String() != want {
		t.Errorf("the list is %q", rec.Body)
	}

	report(`{"status":"completed","dsp":"meta"}`, 409)
	report(`{"status":"in_progress","dsp":"google_ads"}`, 200)
	if got := report(`{"status":"completed","dsp":"google_ads"}`, 200); got["status"] != "in_progress" {
		t.Errorf("one of two: %v", got)
	}
	if got := report(`{"status":"completed","dsp":"tiktok_ads"}`, 200); got["status"] != "completed" ||
		got["result"] != `{"synced":["google_ads","tiktok_ads"],"rows":1,"accepted":1,"rejected":0}` {
		t.Errorf("both: %v", got)
	}
	report(`{"status":"failed"}`, 409)
	list := must(t, w, "GET", base+"/audiences", "", 200)["audiences"].([]any)[0].(map[string]any)
	if synced, _ := json.Marshal(list["syncedDsps"]); string(synced) != `["google_ads","tiktok_ads"]` {
		t.Errorf("synced: %s", synced)
	}
}

// TestResultAsItIsShown: a connector may send a result as an object, or as the text that GET shows.
func TestResultAsItIsShown(t *testing.T) {
	w := managetest.New(t)
	w.Offsite.Connectors = map[string]jobs.Connector{"meta": &network{}}
	must(t, w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"V"}]}`, 200)
	job := must(t, w, "POST", base+"/advertisers", `{"vendorId":"v1","dsp":"meta"}`, 202)["jobId"].(string)
	w.Work(t)
	for _, bad := range []string{`"no json"`, `"[1]"`, `""`, `"{} {}"`, `5`, `["{}"]`, `true`, `"\"{}\""`} {
		must(t, w, "PATCH", base+"/jobs/"+job, `{"status":"completed","result":`+bad+`}`, 422)
	}
	const text = `{"ad account":"17","lists":[1,2]}`
	shown, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{strings.ReplaceAll(text, ":", " : "), string(shown)} {
		if got := must(t, w, "PATCH", base+"/jobs/"+job, `{"status":"in_progress","result":`+form+`}`, 200); got["status"] != "in_progress" {
			t.Errorf("%v", got)
		}
	}
	if got := must(t, w, "PATCH", base+"/jobs/"+job, `{"status":"completed","result":`+string(shown)+`}`, 200); got["result"] != text {
		t.Errorf("the result is %v, want %s", got["result"], text)
	}
}

// TestGivenUp: a network that never accepts a job is tried five more times; one that never reports has a day.
func TestGivenUp(t *testing.T) {
	w := managetest.New(t)
	never, silent := &network{fails: 1000}, &network{}
	w.Offsite.Connectors = map[string]jobs.Connector{"google_ads": never}
	put(t, w, offsiteAudience(t, w, `"google_ads"`)["url"].(string), strings.NewReader(hashRow), 200)
	for range 300 {
		w.Work(t)
		w.Advance(time.Second)
	}
	if tried := 1000 - never.fails; tried != 6 {
		t.Errorf("tried %d times", tried)
	}
	w.Offsite.Connectors = map[string]jobs.Connector{"meta": silent}
	out := must(t, w, "POST", base+"/advertisers", `{"vendorId":"v1","dsp":"meta"}`, 202)
	w.Work(t)
	w.Advance(24*time.Hour - time.Minute)
	w.Work(t)
	if got := status(t, w, out["jobId"].(string)); got != "in_progress" || len(silent.taken) != 1 || silent.taken[0].BillingMode != "pre" {
		t.Errorf("within the day: %s, %+v", got, silent.taken)
	}
	w.Advance(time.Minute)
	w.Work(t)
	if got := status(t, w, out["jobId"].(string)); got != "failed" {
		t.Errorf("after a day: %s", got)
	}
}

// TestWebhookConnector: the request that a connector receives.
func TestWebhookConnector(t *testing.T) {
	var body, signed string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		body, signed = string(all), r.Header.Get(delivery.SignatureHeader)
	}))
	defer server.Close()
	w := managetest.New(t)
	w.Offsite.Connectors = map[string]jobs.Connector{"meta": jobs.WebhookConnector{URL: server.URL, Secret: "s", Out: delivery.NewClient(true)}}
	offsiteAudience(t, w, `"meta"`)
	out := must(t, w, "POST", base+"/advertisers", `{"vendorId":"v1","dsp":["meta"],"billingMode":"post"}`, 202)
	w.Work(t)
	want := `{"jobId":"` + out["jobId"].(string) + `","requestType":"advertiser_creation","dsp":"meta","marketplaceId":"00000000-0000-7000-8000-000000000001","vendorId":"v1","billingMode":"post"}`
	if body != want || signed != delivery.Signature("s", []byte(body)) {
		t.Errorf("sent %s\nwant %s\nsigned %s", body, want, signed)
	}
	// A report of a failure fails the job and the registration.
	got := must(t, w, "PATCH", base+"/jobs/"+out["jobId"].(string), `{"status":"failed","result":{"code":7}}`, 200)
	if got["status"] != "failed" || got["result"] != `{"code":7}` {
		t.Errorf("%v", got)
	}
	at := must(t, w, "GET", base+"/advertisers/v1", "", 200)["dspOnboardingStatus"].([]any)[0].(map[string]any)
	if at["status"] != "failed" {
		t.Errorf("%v", at)
	}
}
