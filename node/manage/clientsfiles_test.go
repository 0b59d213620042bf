package manage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/jobs"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard/ids"
)

// files calls the operations of files, which scripts cannot send, and returns those that were answered with success.
func files(t *testing.T) map[string]bool {
	t.Helper()
	f := fileClient{t, managetest.New(t), nil}
	f.d = f.w.Description(t)
	f.api("PUT", "/public/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"Acme"}]}`, nil)
	f.asset()
	f.audience()
	f.segment()
	return f.d.Answered
}

type fileClient struct {
	t *testing.T
	w *managetest.Environment
	d *managetest.Description
}

// send sends a request, without a key if it has none, and checks the exchange.
func (f *fileClient) send(r *http.Request, sent string, want int) *httptest.ResponseRecorder {
	f.t.Helper()
	rec := httptest.NewRecorder()
	f.w.ServeHTTP(rec, r)
	if rec.Code != want {
		f.t.Fatalf("%s %s: %d %s", r.Method, r.URL.Path, rec.Code, rec.Body)
	}
	if err := f.d.Check(r, sent, rec); err != nil {
		f.t.Error(err)
	}
	return rec
}

func (f *fileClient) api(method, target, body string, into any) {
	f.t.Helper()
	rec := call(f.w, method, target, "management", body)
	if into == nil {
		return
	}
	if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil {
		f.t.Fatalf("%s %s: %d %s", method, target, rec.Code, rec.Body)
	}
}

func (f *fileClient) asset() {
	f.t.Helper()
	var a struct {
		ID, URL, UploadURL string
		Fields             map[string]string
	}
	f.api("POST", "/public/v1/assets/asset?vendor_id=v1", `{"name":"A","mimetype":"image/png"}`, &a)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, name := range slices.Sorted(maps.Keys(a.Fields)) {
		_ = form.WriteField(name, a.Fields[name]) // Into memory.
	}
	part, err := form.CreateFormFile("file", "a.png")
	if err != nil {
		f.t.Fatal(err)
	}
	if err := png.Encode(part, image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black})); err != nil {
		f.t.Fatal(err)
	}
	_ = form.Close() // Into memory.
	r := httptest.NewRequest(http.MethodPost, strings.TrimPrefix(a.UploadURL, managetest.PublicURL), bytes.NewReader(body.Bytes()))
	r.Header.Set("Content-Type", form.FormDataContentType())
	f.send(r, body.String(), http.StatusNoContent)
	r = httptest.NewRequest(http.MethodPost, r.URL.Path, bytes.NewReader(body.Bytes()))
	r.Header.Set("Content-Type", form.FormDataContentType())
	f.send(r, body.String(), http.StatusForbidden)

	address := strings.TrimPrefix(a.URL, managetest.PublicURL)
	f.send(httptest.NewRequest(http.MethodGet, address, nil), "", http.StatusNotFound)
	f.w.Work(f.t)
	f.api("POST", "/public/v1/assets/asset/"+a.ID+"/review", `{"status":"approved"}`, &struct{}{})
	etag := f.send(httptest.NewRequest(http.MethodGet, address, nil), "", http.StatusOK).Header().Get("ETag")
	for header, want := range map[[2]string]int{
		{"Range", "bytes=0-3"}: http.StatusPartialContent, {"If-None-Match", etag}: http.StatusNotModified,
		{"Range", "bytes=99999-"}: http.StatusRequestedRangeNotSatisfiable, {"If-Match", `"other"`}: http.StatusPreconditionFailed,
	} {
		r := httptest.NewRequest(http.MethodGet, address, nil)
		r.Header.Set(header[0], header[1])
		f.send(r, "", want)
	}
}

func (f *fileClient) audience() {
	f.t.Helper()
	var a struct{ AudienceID, URL string }
	f.api("POST", "/public/v1/offsite-ads/audiences/user-list?vendor_id=v1", `{"name":"A","dsp":["meta"]}`, &a)
	list := "hashed_email\n" + strings.Repeat("a", 64) + "\n"
	put := func(kind string, want int) {
		r := httptest.NewRequest(http.MethodPut, strings.TrimPrefix(a.URL, managetest.PublicURL), strings.NewReader(list))
		r.Header.Set("Content-Type", kind)
		f.send(r, list, want)
	}
	put("text/plain", http.StatusUnsupportedMediaType)
	put("text/csv", http.StatusOK)
	put("text/csv", http.StatusForbidden)
	f.w.Work(f.t)
	id, err := ids.Parse(a.AudienceID)
	if err != nil {
		f.t.Fatal(err)
	}
	tenant := f.w.Store.Tenant(managetest.Main)
	x, err := tenant.Audience(context.Background(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	export := strings.TrimPrefix(jobs.ExportURL(managetest.PublicURL, tenant, &x, f.w.Now()), managetest.PublicURL)
	f.send(httptest.NewRequest(http.MethodGet, export, nil), "", http.StatusOK)
	path, _, _ := strings.Cut(export, "?")
	f.send(httptest.NewRequest(http.MethodGet, path, nil), "", http.StatusForbidden)
}

func (f *fileClient) segment() {
	f.t.Helper()
	f.api("PUT", "/public/v1/segment-service/segments", `{"segments":[{"id":"s","name":"S"}]}`, &struct{}{})
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "users.txt")
	if err != nil {
		f.t.Fatal(err)
	}
	_, _ = part.Write([]byte("anna\nbert\n")) // Into memory.
	_ = form.Close()                          // Into memory.
	r := httptest.NewRequest(http.MethodPost, "/public/v1/segment-service/segments/s/upload", bytes.NewReader(body.Bytes()))
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Authorization", "Bearer "+f.w.Keys["management"])
	f.send(r, body.String(), http.StatusOK)
}
