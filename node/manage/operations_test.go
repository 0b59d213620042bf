package manage_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// operation is one operation of the description. Tests of all operations iterate over the description, so that a new
// resource is tested automatically.
type operation struct {
	method, path, id string
	op               *openapi3.Operation
}

// operations returns the operations that require a key.
func operations(t *testing.T) []operation {
	t.Helper()
	var all []operation
	for path, item := range description(t).Paths.Map() {
		for method, op := range item.Operations() {
			if len(*op.Security) == 0 {
				continue // Files and health checks require no key.
			}
			all = append(all, operation{method, path, op.OperationID, op})
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return cmp.Compare(a.id, b.id) })
	return all
}

func (o *operation) v2() bool { return strings.HasPrefix(o.path, "/v2/") }

// operators reports whether the operation is the cluster operator's: it accepts the main tenant's keys and no others.
func (o *operation) operators() bool { return (*o.op.Security)[0]["operator"] != nil }

// key is the name of the credential for the operation in place of a management key: the same key, or a token of the vendors'
// dialog that was issued for it. Operations of the operator accept the keys of one marketplace only.
func (o *operation) key(name string) string {
	if o.operators() && name == "other" {
		return "management"
	}
	token := strings.TrimPrefix(name+"-modal", "management-")
	if (*o.op.Security)[0]["modal"] == nil || !slices.Contains([]string{"modal", "other-modal", "suspended-modal", "expired-modal"}, token) {
		return name
	}
	return token
}

// target is the path with unknown ids, and the required query parameters.
func (o *operation) target() string {
	path := o.path
	var query []string
	for _, p := range o.op.Parameters {
		if p.Value.In == "path" {
			value := "nobody"
			if p.Value.Schema.Value.Format == "uuid" {
				value = nobody
			}
			if p.Value.Schema.Value.Type.Is("integer") {
				value = "1"
			}
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", value)
		}
		if p.Value.In == "query" && p.Value.Required {
			value := "nobody"
			switch p.Value.Schema.Value.Format {
			case "date":
				value = "2026-03-17"
			case "date-time":
				value = "2026-03-17T00:00:00Z"
			case "email":
				value = "nobody@example.com"
			}
			query = append(query, p.Value.Name+"="+value)
		}
	}
	if query != nil {
		path += "?" + strings.Join(query, "&")
	}
	return path
}

const nobody = "00000000-0000-7000-8000-000000000000"

// body is the schema of the JSON body, or nil; where one item or an array of them may be sent, that of the item.
func (o *operation) body() *openapi3.Schema {
	if o.op.RequestBody == nil {
		return nil
	}
	content := o.op.RequestBody.Value.Content["application/json"]
	if content == nil { // A form.
		return nil
	}
	s := content.Schema.Value
	if len(s.OneOf) > 0 {
		return s.OneOf[0].Value
	}
	return s
}

// example makes the smallest value that fits a schema.
func example(s *openapi3.Schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type.Includes("object"):
		o := map[string]any{}
		for _, name := range s.Required {
			o[name] = example(s.Properties[name].Value)
		}
		return o
	case s.Type.Includes("array"):
		a := make([]any, s.MinItems)
		for i := range a {
			a[i] = example(s.Items.Value)
		}
		return a
	case s.Type.Includes("string"):
		return text(s, max(1, int(s.MinLength)))
	case s.Type.Includes("boolean"):
		return true
	case s.Min != nil && *s.Min > 0:
		return json.Number(number(*s.Min))
	default:
		return 1
	}
}

// text is a string of a length that fits the schema otherwise.
func text(s *openapi3.Schema, length int) string {
	switch s.Format {
	case "uuid":
		return nobody
	case "date":
		return "2026-03-17"
	case "date-time":
		return "2030-01-01T00:00:00Z"
	case "email":
		return "nobody@example.com"
	case "uri":
		return "https://example.com/"
	}
	return strings.Repeat("1", length)
}

func number(f float64) string {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// call sends a request with a key of the environment and returns the answer.
func call(w *managetest.Environment, method, target, key, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if text, ok := w.Keys[key]; ok {
		key = "Bearer " + text
	}
	if key != "" {
		r.Header.Set("Authorization", key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

// errCode is the code of an error object, and "detail" for a 422.
func errCode(t *testing.T, rec *httptest.ResponseRecorder) string {
	t.Helper()
	var b struct {
		ErrCode, DocURL, Message, Error string
		Detail                          []violation
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &b); err != nil {
		t.Fatalf("%d with a body that is not JSON: %q", rec.Code, rec.Body)
	}
	if rec.Code == http.StatusUnprocessableEntity && len(b.Detail) > 0 && b.ErrCode == "" {
		return "detail"
	}
	if b.DocURL != managetest.PublicURL+"/docs/errors#"+b.ErrCode || b.Message == "" || b.Error != http.StatusText(rec.Code) {
		t.Errorf("incomplete error object: %s", rec.Body)
	}
	return b.ErrCode
}

type violation struct {
	Loc       []string
	Msg, Type string
}

// violations are the entries of a 422.
func violations(t *testing.T, rec *httptest.ResponseRecorder) []violation {
	t.Helper()
	var b struct{ Detail []violation }
	if rec.Code != http.StatusUnprocessableEntity {
		return nil
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Detail
}
