package resource_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"github.com/gavel-ads/gavel/node/manage/resource"
)

// Sheet has a member that null clears beside one where null is absent.
type Sheet struct {
	Link  resource.Optional[string] `json:"link,omitzero" minLength:"10" format:"uri"`
	Plain *string                   `json:"plain,omitempty" minLength:"2"`
}

// Said is the input of the typed function.
type Said struct {
	Text string `json:"text"`
}

// TestOptional: absent, null and a value are three things for an Optional, and only for it.
func TestOptional(t *testing.T) {
	mux := http.NewServeMux()
	api := resource.New(mux, resource.Config{Title: "t", Version: "1", PublicURL: "http://x.test", Logger: slog.New(slog.DiscardHandler)})
	resource.Add(api, resource.Op{ID: "sheet", Method: http.MethodPost, Path: "/notes", Tag: "t", Doc: "d"},
		func(_ context.Context, in *struct{ Body Sheet }) (*struct{ Body Said }, error) {
			kept := "kept"
			in.Body.Link.Apply(&kept)
			return &struct{ Body Said }{Said{fmt.Sprintf("%t %t %s %t", in.Body.Link.Set, in.Body.Link.Null, kept, in.Body.Plain != nil)}}, nil
		})
	for body, want := range map[string]string{
		`{}`:                                      `{"text":"false false kept false"}`,
		`{"link":null,"plain":null}`:              `{"text":"true true  false"}`,
		`{"link":" ","plain":""}`:                 `{"text":"false false kept false"}`,
		`{"link":"http://a.b","plain":"xy"}`:      `{"text":"true false http://a.b true"}`,
		`{"link": null , "LINK2":1}`:              `{"text":"true true  false"}`,
		`{"link":"http://a","plain":"x"}`:         "422",
		`{"link":"no address at all"}`:            "422",
		`{"link":7}`:                              "422",
		`{"link":{"Value":"http://a.b"}}`:         "422",
		`{"link":null,"link":"http://a.b"}`:       "400",
		`{"link":null,"Link":"http://evil.test"}`: "400",
	} {
		code, answer := post(mux, body)
		if code != http.StatusOK {
			answer = fmt.Sprint(code)
		}
		if answer != want {
			t.Errorf("%s: %s, want %s", body, answer, want)
		}
	}
}
