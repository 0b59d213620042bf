package creative_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

const base = "/public/v1/assets/asset"

// answer is the part of an asset that these tests read.
type answer struct {
	ID, Status, URL, UploadURL, PreviewURL, Reason, ErrCode, Message string
	MimeType                                                         *string
	Fields                                                           map[string]string
}

func callAsset(t *testing.T, w *managetest.Environment, method, path, body string) (answer, int) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	var a answer
	if rec.Body.Len() > 0 {
		if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return a, rec.Code
}

// create creates an asset with a declared type, or without one when it is empty.
func create(t *testing.T, w *managetest.Environment, mimeType string) answer {
	t.Helper()
	if _, code := callAsset(t, w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"Acme"}]}`); code != 200 {
		t.Fatal(code)
	}
	a, code := callAsset(t, w, "POST", base+"?vendor_id=v1", fmt.Sprintf(`{"name":"A","mimetype":"%s"}`, mimeType))
	if code != 201 || a.Status != "pending_upload" || a.UploadURL == "" {
		t.Fatalf("%d %+v", code, a)
	}
	return a
}

// upload posts a form as a browser does. The file is read while it is sent.
func upload(t *testing.T, w http.Handler, url string, fields map[string]string, file io.Reader) int {
	t.Helper()
	return post(t, w, url, fields, file, nil).Code
}

func post(t *testing.T, w http.Handler, url string, fields map[string]string, file io.Reader, cut error) *httptest.ResponseRecorder {
	t.Helper()
	pr, pw := io.Pipe()
	form := multipart.NewWriter(pw)
	go func() {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			_ = form.WriteField(name, fields[name])
		}
		if file != nil {
			part, _ := form.CreateFormFile("file", `../../"<b>.svg`)
			_, _ = io.Copy(part, file)
		}
		if cut == nil {
			cut = form.Close()
		}
		_ = pw.CloseWithError(cut)
	}()
	r := httptest.NewRequest("POST", strings.TrimPrefix(url, managetest.PublicURL), pr)
	r.Header.Set("Content-Type", form.FormDataContentType())
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	_ = pr.Close()
	return rec
}

func get(w http.Handler, url string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", strings.TrimPrefix(url, managetest.PublicURL), nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

func picture(t *testing.T, encode func(io.Writer, image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// files are the smallest files of every type.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	box := func(kind, rest string) []byte { return []byte("\x00\x00\x00\x18" + kind + rest + "\x00\x00\x00\x00") }
	return map[string][]byte{
		"image/png":        picture(t, png.Encode),
		"image/jpeg":       picture(t, func(w io.Writer, i image.Image) error { return jpeg.Encode(w, i, nil) }),
		"image/gif":        picture(t, func(w io.Writer, i image.Image) error { return gif.Encode(w, i, nil) }),
		"image/webp":       []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x02\x40\x00\x00\x10\x07\x10\x11\x11\x88\x88"),
		"video/mp4":        box("ftyp", "isom"),
		"video/quicktime":  box("ftyp", "qt  "),
		"text/html":        []byte("\xef\xbb\xbf\n<!doctype html><script>alert(document.domain)</script>"),
		"text/vtt":         []byte("WEBVTT\n\n00:00.000 --> 00:01.000\nHello"),
		"application/json": []byte(`{"headingText":"Sale"}`),
	}
}

// TestEveryType uploads a file of every type, declared and not, and downloads it without a key.
func TestEveryType(t *testing.T) {
	w := managetest.New(t)
	for mimeType, content := range files(t) {
		for _, declared := range []string{mimeType, ""} {
			a := create(t, w, declared)
			if code := upload(t, w, a.UploadURL, a.Fields, bytes.NewReader(content)); code != 204 {
				t.Errorf("%s declared as %q: %d", mimeType, declared, code)
				continue
			}
			a, _ = callAsset(t, w, "GET", base+"/"+a.ID, "")
			if a.Status != "pending_approval" || a.MimeType == nil || *a.MimeType != mimeType || len(a.Fields) != 0 || a.UploadURL != "" {
				t.Errorf("%s after its upload: %+v", mimeType, a)
			}
			if rec := get(w, a.URL); rec.Code != 404 {
				t.Errorf("%s is public before its review: %d", mimeType, rec.Code)
			}
			shown(t, get(w, a.PreviewURL), mimeType, content, "private, no-store")
			if _, code := callAsset(t, w, "POST", base+"/"+a.ID+"/review", `{"status":"approved"}`); code != 200 {
				t.Fatal(code)
			}
			shown(t, get(w, a.URL), mimeType, content, "public, max-age=300")
			if _, code := callAsset(t, w, "POST", base+"/"+a.ID+"/review", `{"status":"rejected"}`); code != 200 {
				t.Fatal(code)
			}
			if rec := get(w, a.URL); rec.Code != 404 {
				t.Errorf("%s is public after its approval was withdrawn: %d", mimeType, rec.Code)
			}
		}
	}
}

// shown checks the headers that prevent a served file from being executed.
func shown(t *testing.T, rec *httptest.ResponseRecorder, mimeType string, content []byte, cache string) {
	t.Helper()
	if rec.Code != 200 || !bytes.Equal(rec.Body.Bytes(), content) {
		t.Fatalf("%s: %d, %d bytes", mimeType, rec.Code, rec.Body.Len())
	}
	disposition := ""
	if mimeType == "text/html" {
		disposition = "attachment"
	}
	if strings.HasPrefix(mimeType, "text/") {
		mimeType += "; charset=utf-8"
	}
	for name, want := range map[string]string{
		"Content-Type": mimeType, "Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Resource-Policy": "cross-origin", "Content-Disposition": disposition, "Cache-Control": cache,
	} {
		if got := rec.Header().Get(name); got != want {
			t.Errorf("%s has %s %q, want %q", mimeType, name, got, want)
		}
	}
}

// TestRanges: players request ranges, and browsers revalidate their caches.
func TestRanges(t *testing.T) {
	w := managetest.New(t)
	a := create(t, w, "text/vtt")
	content := files(t)["text/vtt"]
	upload(t, w, a.UploadURL, a.Fields, bytes.NewReader(content))
	callAsset(t, w, "POST", base+"/"+a.ID+"/review", `{"status":"approved"}`)
	whole := get(w, a.URL)
	part := get(w, a.URL, "Range", "bytes=3-5")
	if part.Code != 206 || part.Body.String() != string(content[3:6]) || part.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("a part: %d %q", part.Code, part.Body)
	}
	if rec := get(w, a.URL, "If-None-Match", whole.Header().Get("ETag")); rec.Code != 304 || rec.Body.Len() > 0 {
		t.Errorf("what is known is sent again: %d", rec.Code)
	}
	if rec := get(w, a.URL, "Range", "bytes=9999-"); rec.Code != 416 {
		t.Errorf("a part behind the end: %d", rec.Code)
	}
	for _, address := range []string{"x", "a0001-x", "a0009-" + strings.Repeat("a", 26), strings.TrimPrefix(a.URL, managetest.PublicURL+"/assets/") + "-1"} {
		if rec := get(w, "/assets/"+address); rec.Code != 404 {
			t.Errorf("/assets/%s: %d", address, rec.Code)
		}
	}
	if preview, _ := callAsset(t, w, "GET", base+"/"+a.ID, ""); preview.PreviewURL != "" {
		t.Error("a public file needs no preview")
	}
}

// TestForgedForms changes every field of a form, and one character of each: no upload succeeds, and the form stays valid.
func TestForgedForms(t *testing.T) {
	w := managetest.New(t)
	content := files(t)["image/png"]
	a, b := create(t, w, "image/png"), create(t, w, "image/png")
	refuse := func(name, url string, fields map[string]string, want int) {
		t.Helper()
		if code := upload(t, w, url, fields, bytes.NewReader(content)); code != want {
			t.Errorf("%s: %d, want %d", name, code, want)
		}
	}
	for field := range a.Fields {
		without := maps.Clone(a.Fields)
		delete(without, field)
		refuse("without "+field, a.UploadURL, without, 403)
		for i, letter := range a.Fields[field] {
			if i > 40 && i%7 != 0 {
				continue
			}
			other := maps.Clone(a.Fields)
			flipped := []byte(other[field])
			flipped[i] = 'A' + byte(letter+1)%26
			if other[field] = string(flipped); other[field] == a.Fields[field] {
				continue
			}
			refuse(fmt.Sprintf("letter %d of %s", i, field), a.UploadURL, other, 403)
		}
	}
	refuse("another asset's address", b.UploadURL, a.Fields, 403)
	refuse("another asset's fields", a.UploadURL, b.Fields, 403)
	mixed := maps.Clone(a.Fields)
	mixed["x-gavel-signature"] = b.Fields["x-gavel-signature"]
	refuse("another signature", a.UploadURL, mixed, 403)
	if rec := post(t, w, a.UploadURL, a.Fields, nil, nil); rec.Code != 400 {
		t.Errorf("no file: %d %s", rec.Code, rec.Body)
	}
	long := maps.Clone(a.Fields)
	long["more"] = strings.Repeat("x", 8193)
	refuse("a long field", a.UploadURL, long, 400)
	if now, _ := callAsset(t, w, "GET", base+"/"+a.ID, ""); now.Status != "pending_upload" {
		t.Fatalf("forgeries changed the asset: %+v", now)
	}
	w.Advance(15*time.Minute - time.Millisecond)
	refuse("in time", a.UploadURL, a.Fields, 204)
	refuse("replayed", a.UploadURL, a.Fields, 403)
	w.Advance(time.Millisecond)
	refuse("late", b.UploadURL, b.Fields, 403)

	renewed, code := callAsset(t, w, "POST", base+"/"+b.ID+"/upload", "")
	if code != 200 {
		t.Fatal(code)
	}
	again, _ := callAsset(t, w, "POST", base+"/"+b.ID+"/upload", "")
	refuse("replaced", renewed.UploadURL, renewed.Fields, 403)
	refuse("renewed", again.UploadURL, again.Fields, 204)
	if log := w.Log(); log != "" {
		t.Errorf("refusals are no defects: %s", log)
	}
}

// TestBadFiles: a file that is not of its type ends in upload_error with its status, and a new form helps.
func TestBadFiles(t *testing.T) {
	w := managetest.New(t)
	all := files(t)
	for _, c := range []struct {
		name, declared string
		file           io.Reader
		cut            error
		status         int
	}{
		{"svg", "", strings.NewReader(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), nil, 415},
		{"svg with a head", "", strings.NewReader(`<?xml version="1.0"?><svg/>`), nil, 415},
		{"svg as picture", "image/png", strings.NewReader(`<svg/>`), nil, 415},
		{"html as picture", "image/gif", bytes.NewReader(all["text/html"]), nil, 415},
		{"html as json", "application/json", bytes.NewReader(all["text/html"]), nil, 415},
		{"picture as html", "text/html", bytes.NewReader(all["image/png"]), nil, 415},
		{"picture as other picture", "image/webp", bytes.NewReader(all["image/png"]), nil, 415},
		{"mp4 as quicktime", "video/quicktime", bytes.NewReader(all["video/mp4"]), nil, 415},
		{"program", "", strings.NewReader("\x7fELF\x02\x01\x01"), nil, 415},
		{"binary html", "text/html", strings.NewReader("<html>\x00\xff"), nil, 415},
		{"empty", "", strings.NewReader(""), nil, 415},
		{"half a head", "image/png", bytes.NewReader(all["image/png"][:20]), nil, 415},
		{"one byte too many", "image/jpeg", io.MultiReader(bytes.NewReader(all["image/jpeg"]), zeros(5<<20+1-len(all["image/jpeg"]))), nil, 413},
		{"one byte too many of what is no video", "", io.MultiReader(bytes.NewReader(all["image/jpeg"]), zeros(5<<20+1-len(all["image/jpeg"]))), nil, 413},
		{"one byte too many of a video", "video/mp4", io.MultiReader(bytes.NewReader(all["video/mp4"]), zeros(50<<20+1-len(all["video/mp4"]))), nil, 413},
		{"client goes away", "video/mp4", io.MultiReader(bytes.NewReader(all["video/mp4"]), zeros(1<<20)), io.ErrUnexpectedEOF, 400},
	} {
		a := create(t, w, c.declared)
		if rec := post(t, w, a.UploadURL, a.Fields, c.file, c.cut); rec.Code != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, rec.Code, rec.Body, c.status)
		}
		now, _ := callAsset(t, w, "GET", base+"/"+a.ID, "")
		if now.Status != "upload_error" || now.Reason == "" || now.PreviewURL != "" {
			t.Errorf("%s leaves %+v", c.name, now)
		}
		renewed, code := callAsset(t, w, "POST", base+"/"+a.ID+"/upload", "")
		if code != 200 || renewed.Status != "pending_upload" || renewed.URL != a.URL {
			t.Errorf("%s: no new form: %d %+v", c.name, code, renewed)
		}
	}
	if names := stored(t, w); len(names) > 0 {
		t.Errorf("refused files stay: %v", names)
	}
	for name, file := range map[string]io.Reader{
		"image/jpeg": io.MultiReader(bytes.NewReader(all["image/jpeg"]), zeros(5<<20-len(all["image/jpeg"]))),
		"video/mp4":  io.MultiReader(bytes.NewReader(all["video/mp4"]), zeros(50<<20-len(all["video/mp4"]))),
	} {
		a := create(t, w, name)
		if code := upload(t, w, a.UploadURL, a.Fields, file); code != 204 {
			t.Errorf("%s at its bound: %d", name, code)
		}
	}
}

func stored(t *testing.T, w *managetest.Environment) (names []string) {
	t.Helper()
	if err := w.Blobs.Walk(t.Context(), func(name string, _ time.Time) error { names = append(names, name); return nil }); err != nil {
		t.Fatal(err)
	}
	return names
}

func zeros(n int) io.Reader { return io.LimitReader(zero{}, int64(n)) }

type zero struct{}

func (zero) Read(p []byte) (int, error) { return len(p), nil }

// TestPixels: an image of few bytes and very many pixels is refused by its header alone.
func TestPixels(t *testing.T) {
	w := managetest.New(t)
	for name, file := range map[string]string{
		"image/gif":  "GIF89a\xff\xff\xff\xff\x00\x00\x00",
		"image/webp": "RIFF\x1a\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff",
	} {
		a := create(t, w, name)
		if code := upload(t, w, a.UploadURL, a.Fields, strings.NewReader(file)); code != 413 {
			t.Errorf("%s: %d", name, code)
		}
	}
}

// TestOnce: of many uploads with one form at the same moment, one succeeds.
func TestOnce(t *testing.T) {
	w := managetest.New(t)
	a := create(t, w, "text/vtt")
	var all sync.WaitGroup
	codes := make(chan int, 8)
	for range cap(codes) {
		all.Go(func() { codes <- upload(t, w, a.UploadURL, a.Fields, bytes.NewReader(files(t)["text/vtt"])) })
	}
	all.Wait()
	close(codes)
	count := map[int]int{}
	for c := range codes {
		count[c]++
	}
	if count[204] != 1 || count[403] != 7 {
		t.Errorf("answers: %v", count)
	}
}

// TestAutoApprove: where the marketplace wants no review, a file is public at once.
func TestAutoApprove(t *testing.T) {
	w := managetest.New(t)
	if _, code := callAsset(t, w, "PATCH", "/public/v1/marketplace-service/settings", `{"autoApproveAssets":true}`); code != 200 {
		t.Fatal(code)
	}
	a := create(t, w, "text/vtt")
	if code := upload(t, w, a.UploadURL, a.Fields, bytes.NewReader(files(t)["text/vtt"])); code != 204 {
		t.Fatal(code)
	}
	if a, _ = callAsset(t, w, "GET", base+"/"+a.ID, ""); a.Status != "approved" || get(w, a.URL).Code != 200 {
		t.Errorf("%+v", a)
	}
	if a, _ := callAsset(t, w, "POST", base+"?vendor_id=v1", `{"name":"A","externalUrl":"https://example.com/a.png"}`); a.Status != "approved" {
		t.Errorf("external: %+v", a)
	}
}

// TestInUse: an asset that a slot shows when no bid wins cannot be deleted; deleting an asset deletes its file.
func TestInUse(t *testing.T) {
	w := managetest.New(t)
	a := create(t, w, "text/vtt")
	upload(t, w, a.UploadURL, a.Fields, bytes.NewReader(files(t)["text/vtt"]))
	const slots = "/public/v1/media-service/slots"
	fallback := func(results string) {
		t.Helper()
		if _, code := callAsset(t, w, "PUT", slots+"/top/fallback", `{"results":[`+results+`]}`); code != 200 {
			t.Fatal(code)
		}
	}
	callAsset(t, w, "POST", slots, `{"slotId":"top","position":"search","dimensions":{}}`)
	fallback(`{"deviceType":"mobile","url":"` + a.URL + `","width":1,"height":1,"contentType":"image/webp","destination":{"destinationType":"vendor","destinationId":"v1"}}`)
	if got, code := callAsset(t, w, "DELETE", base+"/"+a.ID, ""); code != 409 || got.ErrCode != "invalid_operation" {
		t.Errorf("in use: %d %+v", code, got)
	}
	fallback("")
	if _, code := callAsset(t, w, "DELETE", base+"/"+a.ID, ""); code != 204 || len(stored(t, w)) != 0 {
		t.Errorf("not in use: %d, files %v", code, stored(t, w))
	}
}

// TestMemory: receiving, checking and storing a video of 50 MiB takes less than 8 MiB of heap.
func TestMemory(t *testing.T) {
	w := managetest.New(t)
	a := create(t, w, "video/mp4")
	head := files(t)["video/mp4"]
	m := &meter{Reader: io.MultiReader(bytes.NewReader(head), zeros(50<<20-len(head)))}
	runtime.GC()
	runtime.ReadMemStats(&m.stats)
	before := m.stats.HeapAlloc
	if code := upload(t, w, a.UploadURL, a.Fields, m); code != 204 {
		t.Fatal(code)
	}
	if growth := int64(m.most) - int64(before); growth > 8<<20 || m.most == 0 {
		t.Errorf("the heap grew by %d KiB", growth>>10)
	}
}

// meter measures the heap from time to time while it is read.
type meter struct {
	io.Reader
	reads int
	most  uint64
	stats runtime.MemStats
}

func (m *meter) Read(p []byte) (int, error) {
	if m.reads++; m.reads%100 == 0 {
		runtime.GC()
		runtime.ReadMemStats(&m.stats)
		m.most = max(m.most, m.stats.HeapAlloc)
	}
	return m.Reader.Read(p)
}

// TestOutage: when the record cannot be written, the answer says to repeat, and the file is removed.
func TestOutage(t *testing.T) {
	w := managetest.New(t)
	a := create(t, w, "text/vtt")
	w.FailWrites(true)
	if code := upload(t, w, a.UploadURL, a.Fields, bytes.NewReader(files(t)["text/vtt"])); code != 503 {
		t.Errorf("without a leader: %d", code)
	}
	w.FailWrites(false)
	if code := upload(t, w, a.UploadURL, a.Fields, bytes.NewReader(files(t)["text/vtt"])); code != 204 {
		t.Errorf("the form was spent by an upload that never began: %d", code)
	}
}

// TestShownByBid: an asset that a bid shows cannot be deleted until its campaign is terminated.
func TestShownByBid(t *testing.T) {
	w := managetest.New(t)
	a := create(t, w, "text/vtt")
	tenant := w.Store.Tenant(managetest.Main)
	c := model.Campaign{VendorID: "v1", Name: "C", Format: model.Banner, Charge: model.CPM, Active: true, Status: model.Approved}
	bids := []model.Bid{{Target: "p", Amount: 1_000_000, Active: true, Creative: &model.Creative{Place: "top", Assets: []model.BannerAsset{{AssetID: a.ID}}}}}
	if err := tenant.CreateCampaign(t.Context(), &c, bids); err != nil {
		t.Fatal(err)
	}
	if _, code := callAsset(t, w, "DELETE", base+"/"+a.ID, ""); code != 409 {
		t.Errorf("shown by a bid: %d", code)
	}
	if err := tenant.PatchCampaign(t.Context(), &command.PatchCampaign{Campaign: c.ID, Status: new(model.Terminated)}); err != nil {
		t.Fatal(err)
	}
	if _, code := callAsset(t, w, "DELETE", base+"/"+a.ID, ""); code != 204 {
		t.Errorf("of a campaign that is over: %d", code)
	}
}
