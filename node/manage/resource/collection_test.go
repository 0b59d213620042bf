package resource_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// labelServer serves the worked example (label_test.go) on a marketplace's store.
type labelServer struct {
	*managetest.Environment
	mux *http.ServeMux
}

func newLabelServer(t *testing.T) *labelServer {
	t.Helper()
	s := &labelServer{managetest.New(t), http.NewServeMux()}
	RegisterLabels(resource.New(s.mux, resource.Config{PublicURL: "http://gavel.test", Logger: slog.New(slog.DiscardHandler)}))
	return s
}

// call sends a request for a marketplace and returns its status and answer.
func (s *labelServer) call(t *testing.T, marketplace uint16, method, path, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r = r.WithContext(resource.WithCaller(r.Context(), resource.Caller{Marketplace: marketplace, Tenant: s.Store.Tenant(marketplace)}))
	rec := httptest.NewRecorder()
	s.mux.ServeHTTP(rec, r)
	return rec.Code, rec.Body.String()
}

// TestWorkedExample runs the five operations of the worked example, with the refusals that the kit and the store give it.
func TestWorkedExample(t *testing.T) {
	s := newLabelServer(t)
	created, text := s.call(t, managetest.Main, "POST", labelBase, `{"name":"Spring"}`)
	var label Label
	if err := json.Unmarshal([]byte(text), &label); created != http.StatusCreated || err != nil || label.Color != "#000000" {
		t.Fatalf("%d %s", created, text)
	}
	if status, text := s.call(t, managetest.Main, "POST", labelBase, `{"name":"Summer","color":"#00ff00"}`); status != http.StatusCreated {
		t.Fatalf("%d %s", status, text)
	}
	s.Advance(time.Hour)
	one := labelBase + "/" + label.ID
	for _, c := range []struct {
		marketplace          uint16
		method, path, body   string
		status               int
		contains, withoutAll string
	}{
		{managetest.Main, "POST", labelBase, `{"name":"SPRING"}`, 409, "already_exists", ""},
		{managetest.Main, "POST", labelBase, `{"name":"x","color":"red"}`, 422, `["body","color"]`, ""},
		{managetest.Main, "GET", one, "", 200, `"name":"Spring"`, ""},
		{managetest.Other, "GET", one, "", 404, "", "Spring"},
		{managetest.Other, "GET", labelBase, "", 200, `"labels":[]`, "Spring"},
		{managetest.Main, "PATCH", one, `{"name":"summer"}`, 409, "already_exists", ""},
		{managetest.Main, "PATCH", one, `{}`, 200, `"updatedAt":` + textOf(t, label.CreatedAt), ""},
		{managetest.Main, "PATCH", one, `{"name":"Autumn"}`, 200, `"name":"Autumn"`, `"updatedAt":` + textOf(t, label.CreatedAt)},
		{managetest.Main, "POST", labelBase, `{"name":"Spring"}`, 201, "", ""},
		{managetest.Main, "DELETE", one, "", 204, "", ""},
		{managetest.Main, "DELETE", one, "", 404, "", ""},
		{managetest.Main, "GET", labelBase + "?limit=1", "", 200, `"name":"Spring"`, "Autumn"},
		{managetest.Main, "GET", labelBase, "", 200, `"hasMore":false`, "Autumn"},
	} {
		status, text := s.call(t, c.marketplace, c.method, c.path, c.body)
		if status != c.status || !strings.Contains(text, c.contains) || c.withoutAll != "" && strings.Contains(text, c.withoutAll) {
			t.Errorf("%s %s %s: %d %s, want %d with %q and without %q", c.method, c.path, c.body, status, text, c.status, c.contains, c.withoutAll)
		}
	}
}

func textOf(t *testing.T, x resource.Time) string {
	t.Helper()
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPlainResourcesAreApart: two resources that share the record kinds see neither the items, nor the names, nor the limit of
// each other, though the name of one begins that of the other.
func TestPlainResourcesAreApart(t *testing.T) {
	tenant := managetest.New(t).Store.Tenant(managetest.Main)
	name := func(x *storedLabel) string { return x.Name }
	all := map[string]store.Collection[storedLabel]{
		"a": store.NewCollection("a", 3, name), "ab": store.NewCollection("ab", 3, name), "b": store.NewCollection("b", 3, name),
	}
	for resourceName, c := range all {
		for i := range 4 {
			err := c.Create(t.Context(), tenant, &storedLabel{Name: fmt.Sprint(i), Color: resourceName})
			if (err != nil) != (i == 3) || i == 3 && !strings.Contains(err.Error(), "at most 3 "+resourceName+" ") {
				t.Errorf("item %d of %s: %v", i, resourceName, err)
			}
		}
	}
	for resourceName, c := range all {
		got, more, err := c.List(tenant, store.Page{Limit: 10}, nil)
		if len(got) != 3 || more || err != nil {
			t.Errorf("%s has %v, %t, %v", resourceName, got, more, err)
		}
		for i := range got {
			if got[i].Color != resourceName {
				t.Errorf("%s lists an item of %s", resourceName, got[i].Color)
			}
		}
		if x, err := c.ByName(tenant, "1"); err != nil || x.Color != resourceName {
			t.Errorf("%s finds %v by name, %v", resourceName, x, err)
		}
	}
}
