package audience_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/audience"
	"github.com/gavel-ads/gavel/node/manage/managetest"
)

func TestScripts(t *testing.T) { managetest.RunScripts(t) }

// part is one part of a form.
type part struct {
	name string
	body io.Reader
}

func text(name, body string) part { return part{name, strings.NewReader(body)} }

// send posts a form to a path below the segments.
func send(w *managetest.Environment, path string, parts ...part) *httptest.ResponseRecorder {
	from, to := io.Pipe()
	form := multipart.NewWriter(to)
	go func() {
		for _, p := range parts {
			field, err := form.CreateFormField(p.name)
			if err == nil {
				_, err = io.Copy(field, p.body)
			}
			if err != nil {
				_ = to.CloseWithError(err)
				return
			}
		}
		_ = to.CloseWithError(form.Close())
	}()
	r := httptest.NewRequest("POST", "/public/v1/segment-service/segments/"+path, from)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	_ = from.Close()
	return rec
}

// newEnvironment returns an environment with a static segment s and a dynamic one d.
func newEnvironment(t *testing.T) *managetest.Environment {
	t.Helper()
	w := managetest.New(t)
	body := `{"segments":[{"id":"s","name":"S"},{"id":"d","name":"D","config":{"type":"dynamic","definition":{"behaviors":[{"logic":"and","action_type":"clicks","time_window":{"value":1},"frequency":{"value":1,"operator":"gt"},"parameters":[]}]}}}]}`
	r := httptest.NewRequest("PUT", "/public/v1/segment-service/segments", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	rec := httptest.NewRecorder()
	if w.ServeHTTP(rec, r); rec.Code != 200 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	return w
}

func TestUpload(t *testing.T) {
	w := newEnvironment(t)
	const all = "\xef\xbb\xbfuser_id\r\nanna\r\n  bert \n\nanna\nx@y\na;b\na,b\na\tb\n" + "carl"
	long := strings.Repeat("ä", 91)
	for _, step := range []struct {
		path  string
		parts []part
		want  audience.SegmentResult
	}{
		{"s/upload", []part{text("file", all)}, audience.SegmentResult{Action: "add", Received: 8, Added: 3, Rejected: 4, Size: 3}},
		{"s/upload", []part{text("file", "anna\ndora\n")}, audience.SegmentResult{Action: "add", Received: 2, Added: 1, Size: 4}},
		{"s/upload?action=remove", []part{text("file", "anna\nnobody")}, audience.SegmentResult{Action: "remove", Received: 2, Removed: 1, Size: 3}},
		{"s/upload", []part{text("action", "replace"), text("file", strings.Repeat("ä", 90)+"\n"+long+"\n"+strings.Repeat("x", 10_000))}, audience.SegmentResult{Action: "replace", Received: 3, Added: 1, Removed: 3, Rejected: 2, Size: 1}},
		{"s/upload?action=add", []part{text("action", "add"), text("other", "ignored"), text("file", "opaqueUserId\nopaqueUserId")}, audience.SegmentResult{Action: "add", Received: 1, Added: 1, Size: 2}},
		// A client that names the action after the file must not have its users added instead.
		{"s/upload", []part{text("file", "emil"), text("action", "replace")}, audience.SegmentResult{Action: "replace", Received: 1, Added: 1, Removed: 2, Size: 1}},
	} {
		step.want.SegmentID = "s"
		rec := send(w, step.path, step.parts...)
		var got audience.SegmentResult
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 || got != step.want {
			t.Errorf("%s: %d %s, want %+v", step.path, rec.Code, rec.Body, step.want)
		}
	}
}

func TestUploadsThatAreRefused(t *testing.T) {
	w := newEnvironment(t)
	const ok = "anna\n"
	send(w, "s/upload", text("file", ok))
	for name, x := range map[string]struct {
		path   string
		parts  []part
		status int
		says   string
	}{
		"an unknown segment":       {"nobody/upload", []part{text("file", ok)}, 404, "resource_not_found"},
		"a dynamic segment":        {"d/upload", []part{text("file", ok)}, 409, "invalid_operation"},
		"no file":                  {"s/upload", []part{text("action", "add")}, 422, `"missing"`},
		"two files":                {"s/upload", []part{text("file", ok), text("file", ok)}, 422, `"file"`},
		"no valid line":            {"s/upload", []part{text("file", "user_id\n\n@\n")}, 422, `"file"`},
		"another action":           {"s/upload?action=keep", []part{text("file", ok)}, 422, `"query"`},
		"another action in a form": {"s/upload", []part{text("action", "keep"), text("file", ok)}, 422, `"body"`},
		"two actions":              {"s/upload?action=add", []part{text("action", "remove"), text("file", ok)}, 422, `"action"`},
		"two actions in a form":    {"s/upload", []part{text("action", "remove"), text("file", ok), text("action", "add")}, 422, `"action"`},
		"too large":                {"s/upload", []part{{"file", io.LimitReader(zeros{}, 65<<20)}}, 413, "payload_too_large"},
		"too many":                 {"s/upload", []part{{"file", &numbers{most: 1_000_001}}}, 422, "1,000,000"},
		"cut off":                  {"s/upload", []part{{"file", &numbers{most: 10, cut: true}}}, 400, "bad_request"},
	} {
		if rec := send(w, x.path, x.parts...); rec.Code != x.status || !strings.Contains(rec.Body.String(), x.says) {
			t.Errorf("%s: %d %s, want %d and %s", name, rec.Code, rec.Body, x.status, x.says)
		}
	}
	r := httptest.NewRequest("POST", "/public/v1/segment-service/segments/s/upload", strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	rec := httptest.NewRecorder()
	if w.ServeHTTP(rec, r); rec.Code != 415 {
		t.Errorf("JSON: %d %s, want 415", rec.Code, rec.Body)
	}
	if rec := send(w, "s/upload?action=remove", text("file", ok)); !strings.Contains(rec.Body.String(), `"removed":1,"rejected":0,"size":0`) {
		t.Errorf("something refused changed the segment: %s", rec.Body)
	}
}

// TestAMillionUsers: the largest list is applied in one step, and reading it takes no more memory than its hashes.
func TestAMillionUsers(t *testing.T) {
	w := newEnvironment(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := &numbers{most: 3_000_000, modulo: 1_000_000, watch: func() {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		if now.HeapInuse > after.HeapInuse {
			after = now
		}
	}}
	rec := send(w, "s/upload", part{"file", peak})
	want := audience.SegmentResult{SegmentID: "s", Action: "add", Received: 3_000_000, Added: 1_000_000, Size: 1_000_000}
	var got audience.SegmentResult
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%d %s, want %+v", rec.Code, rec.Body, want)
	}
	// The sorted hashes take 16 MB. A growing slice exists twice, and garbage is not collected at once.
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 96<<20 {
		t.Errorf("reading the list grew the heap by %d MB", grown>>20)
	}
	if rec := send(w, "s/upload", text("file", "one more")); rec.Code != 422 {
		t.Errorf("a user beyond the last: %d %s", rec.Code, rec.Body)
	}
}

// zeros is an endless line.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// numbers are lines with numbers.
type numbers struct {
	next, most, modulo int
	cut                bool
	rest               bytes.Buffer
	watch              func()
}

func (n *numbers) Read(p []byte) (int, error) {
	for n.rest.Len() < len(p) && n.next < n.most {
		number := n.next
		if n.modulo > 0 {
			number %= n.modulo
		}
		fmt.Fprintf(&n.rest, "user-%d\n", number)
		n.next++
		if n.watch != nil && n.next%100_000 == 0 {
			n.watch()
		}
	}
	if n.cut && n.rest.Len() < len(p) {
		return 0, io.ErrUnexpectedEOF
	}
	return n.rest.Read(p)
}

// idle is a body from which nothing arrives. It reports that a read waits for it.
type idle struct {
	waiting chan<- struct{}
	end     <-chan struct{}
}

func (i idle) Read([]byte) (int, error) {
	i.waiting <- struct{}{}
	<-i.end
	return 0, io.ErrUnexpectedEOF
}

// TestIdleUploads: stalled uploads of one marketplace leave uploads to the others.
func TestIdleUploads(t *testing.T) {
	w := newEnvironment(t)
	const many = 4
	waiting, end, ended := make(chan struct{}, 100), make(chan struct{}), make(chan *httptest.ResponseRecorder, many)
	refused := 0
	for range many {
		r := httptest.NewRequest("POST", "/public/v1/segment-service/segments/s/upload", idle{waiting, end})
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
		r.Header.Set("Expect", "100-continue") // A refused body is not read.
		go func() {
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, r)
			ended <- rec
		}()
		select {
		case <-waiting:
		case rec := <-ended:
			if refused++; rec.Code != 503 || rec.Header().Get("Retry-After") == "" || !strings.Contains(rec.Body.String(), "2 uploads") {
				t.Errorf("refused: %d %v %s", rec.Code, rec.Header(), rec.Body)
			}
		}
	}
	w.Keys["management"] = w.Keys["other"]
	r := httptest.NewRequest("PUT", "/public/v1/segment-service/segments", strings.NewReader(`{"segments":[{"id":"s","name":"S"}]}`))
	r.Header.Set("Authorization", "Bearer "+w.Keys["other"])
	w.ServeHTTP(httptest.NewRecorder(), r)
	if rec := send(w, "s/upload", text("file", "anna\n")); rec.Code != 200 {
		t.Errorf("another marketplace's upload beside %d idle ones: %d %s", many, rec.Code, rec.Body)
	}
	close(end)
	for range many - refused {
		<-ended
	}
	if refused != 2 {
		t.Errorf("%d uploads of one marketplace were refused, want 2", refused)
	}
}
