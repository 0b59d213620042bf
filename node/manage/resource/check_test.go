package resource_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/resource"
)

// Note has one member of every kind.
type Note struct {
	Title  string            `json:"title" minLength:"1" maxLength:"8"`
	Count  *int64            `json:"count,omitempty" minimum:"-2" maximum:"9"`
	Share  *resource.Decimal `json:"share,omitempty" exclusiveMinimum:"0" exclusiveMaximum:"1"`
	Done   *bool             `json:"done,omitempty"`
	Kind   string            `json:"kind,omitempty" enum:"a,b"`
	At     *resource.Time    `json:"at,omitempty"`
	Link   string            `json:"link,omitempty" format:"uri"`
	Mail   string            `json:"mail,omitempty" format:"email"`
	Day    string            `json:"day,omitempty" format:"date"`
	Tags   []string          `json:"tags,omitempty" minItems:"1" maxItems:"2" pattern:"^[a-z]+$"`
	Free   resource.Object   `json:"free,omitempty"`
	Nested *Nested           `json:"nested,omitempty"`
}

// Nested is an object in a note.
type Nested struct {
	Inner []Inner `json:"inner" maxItems:"3"`
}

// Inner is an element of an array in an object in a note.
type Inner struct {
	Name string `json:"name" maxLength:"3"`
}

type (
	noteInput  struct{ Body Note }
	noteOutput struct{ Body Note }
)

// echo answers the input of the typed function.
func echo() http.Handler {
	mux := http.NewServeMux()
	api := resource.New(mux, resource.Config{Title: "t", Version: "1", PublicURL: "http://x.test", Logger: slog.New(slog.DiscardHandler)})
	resource.Add(api, resource.Op{ID: "echo", Method: http.MethodPost, Path: "/notes", Tag: "t", Doc: "d"},
		func(_ context.Context, in *noteInput) (*noteOutput, error) { return &noteOutput{in.Body}, nil })
	return mux
}

func post(h http.Handler, body string) (int, string) {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/notes", strings.NewReader(body)))
	return rec.Code, rec.Body.String()
}

func TestAccepted(t *testing.T) {
	h := echo()
	for body, want := range map[string]string{
		`{"title":"x"}`: `{"title":"x"}`,
		`{"title":" "}`: `{"title":" "}`,
		` { "title" : "x" , "unknown" : [1,{"title":2}] } `:                           `{"title":"x"}`,
		`{"title":"x","TITLE2":1,"Unknown":1,"Unknown":2}`:                            `{"title":"x"}`,
		`{"title":"\u00e4\ud834\udd1e\n"}`:                                            `{"title":"ä𝄞\n"}`,
		`{"\u0074itle":"escaped name"}`:                                               ``,
		`{"title":"x","count":-2,"share":0.5,"done":false,"kind":"b"}`:                `{"title":"x","count":-2,"share":0.5,"done":false,"kind":"b"}`,
		`{"title":"x","count":null,"kind":"","link":"  ","tags":null,"nested":null}`:  `{"title":"x"}`,
		`{"title":"x","share":1e-30}`:                                                 `{"title":"x","share":1e-30}`,
		`{"title":"x","at":"2026-03-17T10:00:00.5+01:00"}`:                            `{"title":"x","at":"2026-03-17T09:00:00.500Z"}`,
		`{"title":"x","free":{"a":1,"a":{"A":[]}}}`:                                   `{"title":"x","free":{"a":1,"a":{"A":[]}}}`,
		`{"title":"x","nested":{"inner":[{"name":"a"},{"name":"b","x":1}],"more":1}}`: `{"title":"x","nested":{"inner":[{"name":"a"},{"name":"b"}]}}`,
	} {
		status, got := post(h, body)
		if want == "" { // Twelve characters are too many, which shows that the escaped name was read as title.
			if status != 422 || !strings.Contains(got, `"loc":["body","title"]`) {
				t.Errorf("%s: %d %s", body, status, got)
			}
			continue
		}
		if status != 200 || got != want {
			t.Errorf("%s: %d %s, want %s", body, status, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	h := echo()
	for body, want := range map[string]string{
		`{}`:                                        "body.title missing",
		`{"title":null}`:                            "body.title missing",
		`{"Title":"x"}`:                             "body.Title unknown_member",
		`{"title":""}`:                              "body.title string_too_short",
		`{"title":"123456789"}`:                     "body.title string_too_long",
		`{"title":"x","count":-3}`:                  "body.count greater_than_equal",
		`{"title":"x","count":10}`:                  "body.count less_than_equal",
		`{"title":"x","count":1.0}`:                 "body.count int_type",
		`{"title":"x","count":"1"}`:                 "body.count int_type",
		`{"title":"x","count":true}`:                "body.count int_type",
		`{"title":"x","count":9223372036854775808}`: "body.count less_than_equal",
		`{"title":"x","share":0}`:                   "body.share greater_than",
		`{"title":"x","share":1}`:                   "body.share less_than",
		`{"title":"x","share":1.0e0}`:               "body.share less_than",
		`{"title":"x","share":"0.5"}`:               "body.share float_type",
		`{"title":"x","share":1e400}`:               "body.share less_than_equal",
		`{"title":"x","share":0.1234567890123456789012345678901}`:               "body.share float_type",
		`{"title":"x","done":1}`:                                                "body.done bool_type",
		`{"title":"x","kind":"c"}`:                                              "body.kind enum",
		`{"title":"x","kind":"A"}`:                                              "body.kind enum",
		`{"title":"x","at":"2026-03-17"}`:                                       "body.at datetime_parsing",
		`{"title":"x","at":1}`:                                                  "body.at string_type",
		`{"title":"x","link":"a/b"}`:                                            "body.link url_parsing",
		`{"title":"x","mail":"a@"}`:                                             "body.mail email_parsing",
		`{"title":"x","mail":"A <a@b.c>"}`:                                      "body.mail email_parsing",
		`{"title":"x","day":"2026-02-29"}`:                                      "body.day date_parsing",
		`{"title":"x","tags":[]}`:                                               "body.tags too_short",
		`{"title":"x","tags":["a","b","c"]}`:                                    "body.tags too_long",
		`{"title":"x","tags":["a","B"]}`:                                        "body.tags.1 string_pattern_mismatch",
		`{"title":"x","tags":["a",null]}`:                                       "body.tags.1 string_type",
		`{"title":"x","tags":{}}`:                                               "body.tags list_type",
		`{"title":"x","free":[]}`:                                               "body.free dict_type",
		`{"title":"x","nested":{}}`:                                             "body.nested.inner missing",
		`{"title":"x","nested":{"inner":[{"name":"a"},{"name":"toolong"},{}]}}`: "body.nested.inner.1.name string_too_long; body.nested.inner.2.name missing",
		`{"title":"x","Count":1}`:                                               "body.Count unknown_member",
		`{"title":"x","conut":1}`:                                               "body.conut unknown_member",
		`{"title":"x","COUNT":1}`:                                               "body.COUNT unknown_member",
		`{"title":"x","counts":"y"}`:                                            "body.counts unknown_member",
		`{"titel":"x","shares":1,"nested":{"iner":[],"free":1}}`:                "body.nested.iner unknown_member; body.shares unknown_member; body.titel unknown_member",
		`{"title":"x","nested":{"inner":[{"name":"a"},{"nane":"b","nsme":1}]}}`: "body.nested.inner.1.nane unknown_member",
		`{"title":"x","count":null,"cuont":1}`:                                  "body.cuont unknown_member", // Null is absent.
		`[]`:                                                                    "body dict_type",
		`{"title":"x","title":"y"}`:                                             "bad_request",
		`{"title":"x","TITLE":"y"}`:                                             "bad_request",
		`{"title":"x","tıtle":1,"nested":{"inner":[],"Inner":1}}`:               "bad_request",
		`{"kind":"a","ſind":1,"\u212aind":2,"title":"x"}`:                       "bad_request", // Decoders treat the Kelvin sign as a k.
	} {
		status, got := post(h, body)
		if summary := summarize(t, status, got); summary != want {
			t.Errorf("%s: %s, want %s", body, summary, want)
		}
	}
}

// summarize writes a refusal in one line.
func summarize(t *testing.T, status int, body string) string {
	t.Helper()
	var b struct {
		ErrCode string
		Detail  []resource.Violation
	}
	if err := json.Unmarshal([]byte(body), &b); err != nil {
		t.Fatalf("%d %q: %v", status, body, err)
	}
	if status != http.StatusUnprocessableEntity {
		return b.ErrCode
	}
	var all []string
	for _, v := range b.Detail {
		all = append(all, strings.Join(v.Loc, ".")+" "+v.Type)
	}
	return strings.Join(all, "; ")
}

// FuzzCheck: whatever is sent, the answer is one that the interface defines; and accepted input is, for a second reader that
// matches names exactly, what was sent without the members that the model does not name.
func FuzzCheck(f *testing.F) {
	h := echo()
	for _, seed := range []string{
		`{"title":"x","count":1,"share":0.25,"tags":["a"],"free":{"x":[1]},"nested":{"inner":[{"name":"a"}]}}`,
		`{"title":"\ud800"}`, `{"TITLE":"x","title":"y"}`, `[[[[`, `{"title":"x","x":{"y":[{},{}]}}`, "\xef\xbb\xbf{}", `{"title":"x","at":"2026-03-17T10:00:00Z"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		status, got := post(h, body)
		switch status {
		case 400, 422:
			summarize(t, status, got)
		case 200:
			var sent map[string]any
			d := json.NewDecoder(bytes.NewReader([]byte(body)))
			d.UseNumber()
			if err := d.Decode(&sent); err != nil {
				t.Fatalf("accepted what is not JSON: %q: %v", body, err)
			}
			compare(t, body, sent, got)
		default:
			t.Fatalf("%q: %d %s", body, status, got)
		}
	})
}

// compare compares the decoded members with what was sent, except for times, which are formatted differently.
func compare(t *testing.T, body string, sent map[string]any, got string) {
	t.Helper()
	var bound map[string]any
	d := json.NewDecoder(strings.NewReader(got))
	d.UseNumber()
	if err := d.Decode(&bound); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(bound)) {
		if name == "at" || name == "nested" || name == "free" {
			continue
		}
		if !reflect.DeepEqual(bound[name], sent[name]) {
			t.Fatalf("%q: %s was bound as %v", body, name, bound[name])
		}
	}
}
