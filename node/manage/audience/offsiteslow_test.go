package audience_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestIdleLists: stalled uploads of one marketplace leave uploads to the others, and nothing of them is left.
func TestIdleLists(t *testing.T) {
	w := managetest.New(t)
	const many = 8
	waiting, end, ended := make(chan struct{}, 100), make(chan struct{}), make(chan *httptest.ResponseRecorder, many)
	refused := 0
	must(t, w, "PUT", "/public/v1/catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"v1","name":"Acme"}]}`, 200)
	for i := range many {
		a := must(t, w, "POST", base+"/audiences/user-list?vendor_id=v1", fmt.Sprintf(`{"name":"A%d","dsp":["meta"]}`, i), 202)
		r := httptest.NewRequest("PUT", strings.TrimPrefix(a["url"].(string), managetest.PublicURL), idle{waiting, end})
		r.Header.Set("Content-Type", "text/csv")
		r.Header.Set("Expect", "100-continue") // A refused body is not read.
		go func() {
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, r)
			ended <- rec
		}()
		select {
		case <-waiting:
		case rec := <-ended:
			if refused++; rec.Code != 503 || rec.Header().Get("Retry-After") == "" || !strings.Contains(rec.Body.String(), "4 uploads") {
				t.Errorf("refused: %d %v %s", rec.Code, rec.Header(), rec.Body)
			}
		}
	}
	w.Keys["management"] = w.Keys["other"]
	other := offsiteAudience(t, w, `"meta"`)
	put(t, w, other["url"].(string), strings.NewReader("hashed_email\n"+strings.Repeat("0", 64)+"\n"), 200)
	close(end)
	for range many - refused {
		<-ended
	}
	if refused != many/2 {
		t.Errorf("%d lists of one marketplace were refused, want %d", refused, many/2)
	}
	names := 0
	if err := w.Blobs.Walk(t.Context(), func(string, time.Time) error { names++; return nil }); err != nil || names != 1 {
		t.Errorf("%d files are left, %v: want the list of the other marketplace alone", names, err)
	}
}
