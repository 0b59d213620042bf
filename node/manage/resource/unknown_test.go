package resource_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// TestIgnoredMembersAreNamed: members that are not known and close to none that is absent are ignored, and the answer names them.
func TestIgnoredMembersAreNamed(t *testing.T) {
	h := echo()
	for body, want := range map[string]string{
		`{"title":"x"}`: "",
		`{"title":"x","colour":1,"x":2,"colour":3}`: "colour, x",
		`{"title":"x","titles":1,"Titles":2}`:       "Titles, titles", // What they are close to is there.
		`{"title":"x","free":{"anything":1}}`:       "",
		`{"title":"x","nested":{"inner":[{"name":"a","sort":1},{"name":"b","sort":1},{"sort":1,"name":"c"}],"12":1}}`: "nested.inner.sort, nested.12",
		"{\"title\":\"x\",\"a b\\r\\nSet-Cookie: c\":1,\"\u00e4\":1}":                                                 "a%20b%0D%0ASet-Cookie%3A%20c, %C3%A4",
		`{"title":"x","` + strings.Repeat("y", 200) + `":1}`:                                                          strings.Repeat("y", 64),
		`{"title":"","colour":1}`: "colour", // A refused request has the header, too.
	} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/notes", strings.NewReader(body)))
		if got := rec.Header().Get("X-Gavel-Ignored"); got != want {
			t.Errorf("%.200s: %d, ignored %q, want %q", body, rec.Code, got, want)
		}
	}
}

// TestManyUnknownMembers: a body full of names of which each could be misspelt is answered like one with a few. How many of them are
// compared, TestFewUnknownNamesAreCompared says.
func TestManyUnknownMembers(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"title":"x"`)
	for i := range 400_000 {
		b.WriteString(`,"coun` + strconv.Itoa(i%100_000) + `":1`)
	}
	b.WriteString(`}`)
	rec := httptest.NewRecorder()
	echo().ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/notes", strings.NewReader(b.String())))
	if rec.Code != http.StatusUnprocessableEntity {
		t.Errorf("answered with %d", rec.Code)
	}
	if names := strings.Split(rec.Header().Get("X-Gavel-Ignored"), ", "); len(names) != 20 {
		t.Errorf("%d names are in the header", len(names))
	}
}
