package manage_test

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// The matrix: every route with every kind of key, and with every kind of invalid request. It is built from the description, so a
// new route is tested automatically. The rest is in refusals_test.go (texts that are not
// JSON) and limits_test.go (bounds).

// owned creates one resource of each kind that has an id in a path, as the main tenant, and returns the ids by the names of path
// parameters.
func owned(t *testing.T, w *managetest.Environment) map[string]string {
	t.Helper()
	made := func(method, path, body, member string) string {
		t.Helper()
		return create(t, w, method, path, body, member)
	}
	made("PUT", "catalog-search-service/catalogs/vendors", `{"vendors":[{"id":"mine","name":"V"}]}`, "")
	made("PUT", "catalog-search-service/catalogs/products", `{"products":[{"id":"mine","name":"P","vendors":["mine"],"categories":[]}]}`, "")
	made("PUT", "catalog-search-service/catalogs/categories", `{"categories":[{"id":"mine","name":"C"}]}`, "")
	ids := map[string]string{"vendor_id": "mine", "product_id": "mine", "category_id": "mine", "slot_id": "mine", "id": "mine"}
	ids["campaign_id"] = made("POST", "campaign-service/campaigns?vendor_id=mine",
		`{"name":"C","campaignType":"manual","bids":[{"target":{"type":"product","id":"mine"},"amount":1}]}`, "campaignId")
	made("POST", "media-service/slots", `{"slotId":"mine","position":"search","dimensions":{}}`, "")
	ids["template_id"] = made("POST", "campaign-service/json-templates", `{"name":"T","description":"D","jsonSchema":{"type":"object"}}`, "id")
	ids["json_template_id"] = ids["template_id"]
	ids["version"] = "1"
	ids["placement_id"] = made("POST", "placement-service/placements", `{"externalPlacementId":"mine","name":"Placement","jsonTemplateId":"`+ids["template_id"]+`"}`, "placementId")
	ids["user_id"] = made("POST", "user-service/advertiser-users", `{"email":"mine@example.com","vendorIds":["mine"]}`, "userId")
	ids["key_id"] = made("POST", "key-service/keys", `{"kind":"auction","name":"mine"}`, "keyId")
	ids["asset_id"] = made("POST", "assets/asset?vendor_id=mine", `{"name":"A"}`, "id")
	ids["audience_id"] = made("POST", "offsite-ads/audiences/user-list?vendor_id=mine", `{"name":"A","dsp":["meta"]}`, "audienceId")
	ids["job_id"] = made("POST", "offsite-ads/advertisers", `{"vendorId":"mine"}`, "jobId")
	ids["webhook_id"] = made("POST", "webhooks/webhooks", `{"url":"https://example.com/","channel":"job:finish"}`, "id")
	return ids
}

// create sends a request as the main tenant and returns a member of the answer; an empty member is none.
func create(t *testing.T, w *managetest.Environment, method, path, body, member string) string {
	t.Helper()
	rec := call(w, method, "/public/v1/"+path, "management", body)
	if rec.Code > 299 {
		t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
	}
	if member == "" {
		return ""
	}
	return memberOf(t, rec, member)
}

// TestOtherTenantsIDs: for every id of the main tenant another tenant gets the answer for an unknown id, byte for byte.
func TestOtherTenantsIDs(t *testing.T) {
	w := managetest.New(t)
	ids := owned(t, w)
	tried := 0
	for _, o := range operations(t) {
		if o.v2() || !strings.Contains(o.path, "{") || o.id == "eraseUser" { // Every text may be the id of a user.
			continue
		}
		mine := o.path
		for name, id := range ids {
			mine = strings.ReplaceAll(mine, "{"+name+"}", id)
		}
		_, query, _ := strings.Cut(o.target(), "?")
		nobodys, _, _ := strings.Cut(o.target(), "?")
		if strings.Contains(mine, "{") {
			for _, p := range o.op.Parameters { // The id of a resource within another one: a bid, a wallet.
				if p.Value.In == "path" {
					mine = strings.ReplaceAll(mine, "{"+p.Value.Name+"}", nobody)
				}
			}
		}
		body := ""
		if o.body() != nil {
			body = encode(t, example(o.body()))
		}
		foreign, unknown := call(w, o.method, mine+"?"+query, "other", body), call(w, o.method, nobodys+"?"+query, "other", body)
		if foreign.Code != unknown.Code || foreign.Body.String() != unknown.Body.String() || foreign.Code < 400 || foreign.Code > 499 {
			t.Errorf("%s: another tenant's resource is answered %d %s, nobody's %d %s", o.id, foreign.Code, foreign.Body, unknown.Code, unknown.Body)
		}
		tried++
	}
	if tried < 30 {
		t.Errorf("only %d routes name a resource", tried)
	}
}

// TestKeyMatrix: every route with every kind of key. The kinds that are refused before the request is checked are in
// refusals_test.go; here are those whose refusal depends on earlier requests, and those that are accepted.
func TestKeyMatrix(t *testing.T) {
	w := managetest.New(t)
	rec := call(w, "POST", "/public/v1/key-service/keys", "management", `{"kind":"management","name":"short"}`)
	var made struct{ Key, KeyID string }
	if err := json.Unmarshal(rec.Body.Bytes(), &made); err != nil || rec.Code != 201 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	w.Keys["revoked"] = made.Key
	if rec := call(w, "GET", "/public/v1/key-service/keys", "revoked", ""); rec.Code != 200 {
		t.Fatalf("before it is revoked: %d", rec.Code)
	}
	if rec := call(w, "DELETE", "/public/v1/key-service/keys/"+made.KeyID, "management", ""); rec.Code != 204 {
		t.Fatal(rec.Code)
	}
	for _, o := range operations(t) {
		if o.v2() {
			continue
		}
		expected := map[string]int{
			"": 401, "Bearer x": 401, "revoked": 401, "expired": 401, "auction": 403, "other-auction": 403, "suspended": 403,
			o.key("other"): 0, o.key("management"): 0, o.key("expired"): 401,
		}
		if o.operators() {
			expected["other"] = 403
		}
		for key, want := range expected {
			body := ""
			if o.body() != nil {
				body = `{"nothing":"known"}`
			}
			if o.id == "deleteKey" && want == 0 {
				continue // It would find no resource; its own tests cover the rest.
			}
			rec := call(w, o.method, o.target(), key, body)
			refused := rec.Code == 401 || rec.Code == 403
			if want != 0 && rec.Code != want || want == 0 && refused || rec.Code >= 500 {
				t.Errorf("%s with key %q: %d %.200s, want %d", o.id, key, rec.Code, rec.Body, want)
			}
		}
	}
}

// TestBodyMatrix: every member of every body with a value of another type, and every required member left out: each is a
// violation of its kind at its location, and no body leads to a 500.
func TestBodyMatrix(t *testing.T) {
	w := managetest.New(t)
	tried := 0
	for _, o := range operations(t) {
		if o.v2() || o.body() == nil {
			continue
		}
		m := matrix{t: t, w: w, o: &o, root: o.body()}
		m.walk(nil, o.body(), 0)
		tried += m.tried
	}
	if tried < 300 {
		t.Errorf("only %d cells were tried; the walk misses members", tried)
	}
}

type matrix struct {
	t     *testing.T
	w     *managetest.Environment
	o     *operation
	root  *openapi3.Schema
	tried int
}

func (m *matrix) walk(at []step, s *openapi3.Schema, depth int) {
	if depth > 6 || len(s.OneOf) > 0 {
		return // Tests of the resource cover members with two forms.
	}
	if len(at) > 0 {
		for kind, wrong := range map[string]struct {
			value any
			as    []string
		}{
			"string":  {json.Number("1"), []string{"string_type"}},
			"integer": {"x", []string{"int_type"}},
			"number":  {"x", []string{"float_type"}},
			"boolean": {"x", []string{"bool_type"}},
			"array":   {"x", []string{"list_type"}},
			"object":  {"x", []string{"dict_type"}},
		} {
			if s.Type.Includes(kind) {
				m.cell(at, put(m.root, at, wrong.value), wrong.as)
			}
		}
	}
	for name, p := range s.Properties {
		inner := append(slices.Clone(at), name)
		if slices.Contains(s.Required, name) {
			m.cell(inner, without(put(m.root, at, example(s)), inner), []string{"missing"})
		}
		m.walk(inner, p.Value, depth+1)
	}
	if s.Items != nil {
		m.walk(append(slices.Clone(at), first), s.Items.Value, depth+1)
	}
}

// cell sends a body and looks for the violation at a location.
func (m *matrix) cell(at []step, body any, want []string) {
	m.t.Helper()
	m.tried++
	rec := call(m.w, m.o.method, m.o.target(), m.o.key("management"), encode(m.t, body))
	loc := append([]string{"body"}, at...)
	for _, v := range violations(m.t, rec) {
		if slices.Equal(v.Loc, loc) && slices.Contains(want, v.Type) {
			return
		}
	}
	m.t.Errorf("%s at %v: %d %.300s; want %v", m.o.id, at, rec.Code, rec.Body, want)
}

// without removes a member from a body.
func without(body any, at []step) any {
	inner := body
	for _, part := range at[:len(at)-1] {
		switch v := inner.(type) {
		case map[string]any:
			inner = v[part]
		case []any:
			inner = v[0]
		}
	}
	delete(inner.(map[string]any), at[len(at)-1])
	return body
}

// TestQueryMatrix: every parameter of every route with values that it cannot have.
func TestQueryMatrix(t *testing.T) {
	w := managetest.New(t)
	for _, o := range operations(t) {
		if o.v2() {
			continue
		}
		for _, p := range o.op.Parameters {
			s := p.Value.Schema.Value
			if s.Items != nil {
				s = s.Items.Value
			}
			var bad string
			switch {
			case p.Value.In == "header":
				continue
			case p.Value.Name == "vendor_id" && o.key("management") != "management":
				continue // A token is for one vendor, so any other value is refused before it is checked.
			case s.Type.Includes("integer"), s.Type.Includes("boolean"), len(s.Enum) > 0, s.Format == "uuid", s.Format == "date", s.Format == "date-time", s.Format == "email":
				bad = "x1"
			case s.MaxLength != nil:
				bad = strings.Repeat("x", int(*s.MaxLength)+1)
			case p.Value.Name == "next_page":
				bad = "x"
			default:
				continue
			}
			target := o.target()
			if p.Value.In == "path" {
				good := "/nobody"
				if s.Format == "uuid" {
					good = "/" + nobody
				}
				target = strings.Replace(target, good, "/"+bad, 1)
				if strings.Count(o.path, "{") > 1 {
					continue // The text does not say which of the two is meant.
				}
			} else {
				path, query, _ := strings.Cut(target, "?")
				var others []string
				for part := range strings.SplitSeq(query, "&") {
					if part != "" && !strings.HasPrefix(part, p.Value.Name+"=") {
						others = append(others, part)
					}
				}
				target = path + "?" + strings.Join(append(others, p.Value.Name+"="+bad), "&")
			}
			body := ""
			if o.body() != nil {
				body = encode(t, example(o.body()))
			}
			rec := call(w, o.method, target, o.key("management"), body)
			found := slices.ContainsFunc(violations(t, rec), func(v violation) bool {
				return len(v.Loc) > 1 && v.Loc[0] == p.Value.In && v.Loc[1] == p.Value.Name
			})
			// A page cursor is checked after the resource of the list was found.
			if !found && (p.Value.Name != "next_page" || rec.Code != 404) {
				t.Errorf("%s with %s %.20q: %d %.300s", o.id, p.Value.Name, bad, rec.Code, rec.Body)
			}
		}
	}
}

// TestUploadsWithoutProof: routes that accept files without a key accept none without a valid signature, and serve none that is not
// public. None of these requests is logged as a defect.
func TestUploadsWithoutProof(t *testing.T) {
	w := managetest.New(t)
	const form = "multipart/form-data; boundary=b"
	file := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nx\r\n--b--\r\n"
	for _, c := range []struct {
		method, path, contentType, body string
		want                            int
	}{
		{"POST", "/uploads/assets/" + nobody, form, file, 403},
		{"POST", "/uploads/assets/" + nobody, "application/json", "{}", 415},
		{"POST", "/uploads/assets/" + nobody, form, "--b", 400},
		{"GET", "/uploads/assets/" + nobody, "", "", 405},
		{"PUT", "/uploads/audiences/" + nobody, "text/csv", "hashed_email", 403},
		{"PUT", "/uploads/audiences/" + nobody + "?policy=e30&signature=00", "text/csv", "hashed_email", 403},
		{"GET", "/uploads/audiences/" + nobody, "", "", 403},
		{"GET", "/assets/" + nobody, "", "", 404},
		{"GET", "/assets/..%2f..%2fetc%2fpasswd", "", "", 404},
		{"GET", "/assets/../healthz", "", "", 404},
		{"POST", "/assets/" + nobody, "", "", 405},
	} {
		for _, key := range []string{"", "management", "auction", "revoked"} {
			r := httptest.NewRequest(c.method, "http://gavel.test/", strings.NewReader(c.body))
			r.RequestURI = c.path
			path, query, _ := strings.Cut(c.path, "?")
			r.URL.Path, r.URL.RawQuery = path, query
			r.Header.Set("Content-Type", c.contentType)
			if key != "" {
				r.Header.Set("Authorization", "Bearer "+w.Keys[key])
			}
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, r)
			if rec.Code != c.want {
				t.Errorf("%s %s with key %q: %d %s, want %d", c.method, c.path, key, rec.Code, rec.Body, c.want)
			}
			if h := rec.Header(); h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s: %v", c.method, c.path, h)
			}
		}
	}
	if log := w.Log(); log != "" {
		t.Errorf("refusals are no defects: %.500s", log)
	}
}
