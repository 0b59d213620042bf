package creative_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestManySlots: 50 slots can be created at once, 51 cannot; a list returns 1 to 50.
func TestManySlots(t *testing.T) {
	w := managetest.New(t)
	slots := func(n int, prefix string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`{"slotId":"%s%d","position":"search","dimensions":{}}`, prefix, i)
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	const path = "/public/v1/media-service/slots"
	callSlot(t, w, "POST", path, slots(51, "a"), 422, `{"detail":[{"loc":["body"],"msg":"must have at most 50 items","type":"too_long"}]}`)
	callSlot(t, w, "POST", path, slots(50, "b"), 200, `"externalId":"b49"`)
	callSlot(t, w, "POST", path, slots(1, "c"), 200, `[{`)
	callSlot(t, w, "GET", path, "", 200, `"hasMore":true`)
	callSlot(t, w, "GET", path+"?limit=1", "", 200, `"hasMore":true`)
	callSlot(t, w, "GET", path+"?limit=50", "", 200, `"hasMore":true`)
	callSlot(t, w, "GET", path+"?limit=0", "", 422, `greater_than_equal`)
	callSlot(t, w, "GET", path+"?limit=51", "", 422, `less_than_equal`)
	// The rules of a single item hold in arrays: a repeated member refuses the body.
	callSlot(t, w, "POST", path, `[{"slotId":"d","position":"search","dimensions":{},"SLOTID":"e"}]`, 400, `bad_request`)
}

// TestLengths tries lengths that the general test of limits does not cover: those of URLs, and of ids with further rules.
func TestLengths(t *testing.T) {
	w := managetest.New(t)
	const path = "/public/v1/media-service/slots"
	address := func(length int) string {
		const site = "https://shop.example.com/"
		return site + strings.Repeat("x", length-len(site))
	}
	slot := func(id, url, image string) string {
		return fmt.Sprintf(`{"slotId":"%s","position":"search","dimensions":{},"page":{"name":"N","url":"%s","imageUrl":"%s"}}`, id, url, image)
	}
	callSlot(t, w, "POST", path, slot("a", address(2083), address(2083)), 200, `"externalId":"a"`)
	callSlot(t, w, "POST", path, slot("b", address(2084), address(2083)), 422, `"loc":["body","page","url"]`)
	callSlot(t, w, "POST", path, slot("b", address(2083), address(2084)), 422, `"loc":["body","page","imageUrl"]`)

	fallback := func(url, kind, id string) string {
		return fmt.Sprintf(`{"results":[{"deviceType":"mobile","url":"%s","width":1,"height":1,"contentType":"image/webp",`+
			`"destination":{"destinationType":"%s","destinationId":"%s"}}]}`, url, kind, id)
	}
	callSlot(t, w, "PUT", path+"/a/fallback", fallback(address(2083), "url", address(2083)), 200, `"results":[{`)
	callSlot(t, w, "PUT", path+"/a/fallback", fallback(address(2084), "url", address(2083)), 422, `"0","url"]`)
	callSlot(t, w, "PUT", path+"/a/fallback", fallback(address(99), "url", address(2084)), 422, `"destinationId"]`)
	for _, kind := range []string{"product", "vendor", "brand", "category"} {
		callSlot(t, w, "PUT", path+"/a/fallback", fallback(address(99), kind, strings.Repeat("ä", 255)), 200, `"results":[{`)
		callSlot(t, w, "PUT", path+"/a/fallback", fallback(address(99), kind, strings.Repeat("ä", 256)), 422, `"destinationId"]`)
	}
}

func callSlot(t *testing.T, w *managetest.Environment, method, path, body string, status int, part string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.Keys["management"])
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	if rec.Code != status || !strings.Contains(rec.Body.String(), part) {
		t.Errorf("%s %s with %d bytes: %d %.300s, want %d with %s", method, path, len(body), rec.Code, rec.Body, status, part)
	}
}
