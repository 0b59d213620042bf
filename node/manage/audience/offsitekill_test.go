package audience_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

func call(t *testing.T, w *managetest.Environment, method, path, contentType string, body io.Reader) (map[string]any, int) {
	t.Helper()
	r := httptest.NewRequest(method, strings.TrimPrefix(path, managetest.PublicURL), body)
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	r.Header.Set("Content-Type", contentType)
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	var out map[string]any
	if rec.Body.Len() > 0 {
		if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return out, rec.Code
}

func must(t *testing.T, w *managetest.Environment, method, path, body string, want int) map[string]any {
	t.Helper()
	out, code := call(t, w, method, path, "application/json", strings.NewReader(body))
	if code != want {
		t.Fatalf("%s %s: %d %v", method, path, code, out)
	}
	return out
}

const base = "/public/v1/offsite-ads"

// offsiteAudience creates a vendor and an audience that waits for its list, and returns the answer.
func offsiteAudience(t *testing.T, w *managetest.Environment, networks string) map[string]any {
	t.Helper()
	must(t, w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"Acme"}]}`, 200)
	return must(t, w, "POST", base+"/audiences/user-list?vendor_id=v1", `{"name":"A","dsp":[`+networks+`]}`, 202)
}

func put(t *testing.T, w *managetest.Environment, url string, list io.Reader, want int) {
	t.Helper()
	if out, code := call(t, w, "PUT", url, "text/csv", list); code != want {
		t.Fatalf("the list: %d %v", code, out)
	}
}

// list is a list of so many rows, of which every tenth is invalid.
func list(rows int) []byte {
	var b bytes.Buffer
	b.WriteString("hashed_email,note\n")
	for i := range rows {
		if i%10 == 9 {
			fmt.Fprintf(&b, "bad-%d,\n", i)
			continue
		}
		fmt.Fprintf(&b, "%064x,\n", i)
	}
	return b.Bytes()
}

// TestKilledLeaders replaces the list of an audience by one of a million rows, a fifth of them with go test -short, while leaders are
// stopped in the middle of their work, and two nodes that both believe they are the leader work at the same time. The job completes once,
// with the right counts and rows.
func TestKilledLeaders(t *testing.T) {
	all := 1_000_000
	if testing.Short() {
		all /= 5
	}
	w := managetest.New(t)
	w.Offsite.StepRows = int64(all / 50)
	must(t, w, "POST", "/public/v1/webhooks/webhooks", `{"url":"https://receiver.example.com/","channel":"job:finish"}`, 201)
	first := offsiteAudience(t, w, `"google_ads"`)
	put(t, w, first["url"].(string), strings.NewReader("hashed_email\n"+strings.Repeat("0", 64)+"\n"), 200)
	follow(t, w, store.TaskJob)

	second := must(t, w, "PUT", base+"/audiences/"+first["audienceId"].(string), `{}`, 202)
	put(t, w, second["url"].(string), bytes.NewReader(list(all)), 200)
	job := second["jobId"].(string)
	random := rand.New(rand.NewPCG(1, 2))
	killed, deadline := 0, time.Now().Add(5*time.Minute)
	for status(t, w, job) == "in_progress" && time.Now().Before(deadline) {
		// Leaders live longer and longer: on a busy machine a step takes longer than the first of them live.
		ctx, kill := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(250+10*killed))*time.Millisecond)
		var leaders sync.WaitGroup
		for range 1 + random.IntN(2) {
			leaders.Go(func() {
				r := w.Runner()
				for more := true; more; {
					more = ctx.Err() == nil && r.Round(ctx, workerOf(r, store.TaskJob)) > 0
				}
			})
		}
		leaders.Wait()
		if ctx.Err() != nil {
			killed++
		}
		kill()
	}
	got := must(t, w, "GET", base+"/jobs/"+job, "", 200)
	want := fmt.Sprintf(`{"synced":[],"rows":%d,"accepted":%d,"rejected":%d}`, all, all/10*9, all/10)
	if got["status"] != "completed" || got["result"] != want {
		t.Fatalf("after %d killed leaders: %v %v", killed, got["status"], got["result"])
	}
	if killed < 5 {
		t.Errorf("only %d leaders were killed: the test says little", killed)
	}
	t.Logf("%d leaders killed", killed)

	id, err := ids.Parse(first["audienceId"].(string))
	if err != nil {
		t.Fatal(err)
	}
	tenant := w.Store.Tenant(managetest.Main)
	x, err := tenant.Audience(t.Context(), id)
	if err != nil || x.Size != int64(all/10*9) {
		t.Fatalf("%+v %v", x, err)
	}
	rows(t, w, &x, all)
	if n := stored(t, w); n != x.Parts {
		t.Errorf("%d files are left, the list has %d parts", n, x.Parts)
	}
	hooks, _, err := tenant.Webhooks(t.Context(), store.Page{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	deliveries, err := tenant.Deliveries(t.Context(), hooks[0].ID, 10)
	if err != nil || len(deliveries) != 2 { // One for each job.
		t.Errorf("%d notices of two jobs, %v", len(deliveries), err)
	}
}

// TestVersionFencesSteps: of two workers that read a job at the same moment, the second finds it changed, whatever its step was: it can
// neither set the job back nor end it a second time. The same for notifications.
func TestVersionFencesSteps(t *testing.T) {
	w := managetest.New(t)
	hook := must(t, w, "POST", "/public/v1/webhooks/webhooks", `{"url":"https://receiver.example.com/","channel":"job:finish"}`, 201)
	a := offsiteAudience(t, w, `"google_ads"`)
	put(t, w, a["url"].(string), strings.NewReader("hashed_email\n"+strings.Repeat("0", 64)+"\n"), 200)
	tenant := w.Store.Tenant(managetest.Main)
	id, err := ids.Parse(a["jobId"].(string))
	if err != nil {
		t.Fatal(err)
	}
	first, err := tenant.VersionedJob(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	second := first
	end := func(x *store.Job) { x.End(store.JobCompleted, "{}") }
	if err := tenant.StepJob(t.Context(), first, end); err != nil {
		t.Fatal(err)
	}
	if err := tenant.StepJob(t.Context(), second, end); !errors.Is(err, store.ErrChanged) {
		t.Errorf("the second end of a job: %v", err)
	}
	if _, err := tenant.ReplaceList(t.Context(), second, func(x *store.Job) { x.List.Rows = 7 }); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a list that comes after the end: %v", err)
	}
	if err := tenant.ForgetJob(t.Context(), second); err == nil {
		t.Error("a job was forgotten by somebody who did not see its end")
	}
	hookID, err := ids.Parse(hook["id"].(string))
	if err != nil {
		t.Fatal(err)
	}
	deliveries, err := tenant.Deliveries(t.Context(), hookID, 10)
	if err != nil || len(deliveries) != 1 {
		t.Fatalf("%d notices, %v", len(deliveries), err)
	}
	at, err := tenant.VersionedDelivery(t.Context(), deliveries[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	done := func(d *store.Delivery) { d.Done = true }
	if err := tenant.StepDelivery(t.Context(), at, done); err != nil {
		t.Fatal(err)
	}
	if err := tenant.StepDelivery(t.Context(), at, done); !errors.Is(err, store.ErrChanged) {
		t.Errorf("the second attempt's note: %v", err)
	}
}

func workerOf(r *jobs.Runner, kind store.TaskKind) jobs.Worker {
	for _, l := range r.Workers {
		if l.Kind == kind {
			return l
		}
	}
	panic("no such worker")
}

// follow does the due tasks of one worker.
func follow(t *testing.T, w *managetest.Environment, kind store.TaskKind) {
	t.Helper()
	r := w.Runner()
	for more := true; more; {
		more = r.Round(t.Context(), workerOf(r, kind)) > 0
	}
}

func status(t *testing.T, w *managetest.Environment, job string) string {
	t.Helper()
	return must(t, w, "GET", base+"/jobs/"+job, "", 200)["status"].(string)
}

// rows downloads the accepted rows as a connector does, and checks that every valid row is there once and in order.
func rows(t *testing.T, w *managetest.Environment, x *store.Audience, all int) {
	t.Helper()
	url := w.Offsite.ListURL(w.Store.Tenant(managetest.Main), x)
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, httptest.NewRequest("GET", strings.TrimPrefix(url, managetest.PublicURL), nil))
	if rec.Code != 200 {
		t.Fatalf("the accepted rows: %d %.200s", rec.Code, rec.Body)
	}
	header, _ := rec.Body.ReadString('\n')
	if header != strings.Join(jobs.ListColumns[:], ",")+"\n" {
		t.Errorf("the header is %q", header)
	}
	for i := range all {
		if i%10 == 9 {
			continue
		}
		if line, err := rec.Body.ReadString('\n'); err != nil || line != fmt.Sprintf("%064x,,,,\n", i) {
			t.Fatalf("row %d is %q, %v", i, line, err)
		}
	}
	if rec.Body.Len() > 0 {
		t.Errorf("%d bytes too many", rec.Body.Len())
	}
}

func stored(t *testing.T, w *managetest.Environment) (n int) {
	t.Helper()
	if err := w.Blobs.Walk(t.Context(), func(string, time.Time) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}
