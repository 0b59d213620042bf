package resource

import (
	"net/http"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// schemaName names the schema of a type after its package, so that two resources may both have a type Body.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[ErrorBody]():
		return "Error"
	case reflect.TypeFor[Violations]():
		return "ValidationError"
	case reflect.TypeFor[Violation]():
		return "Violation"
	case reflect.TypeFor[Empty]():
		return "Empty"
	}
	name := huma.DefaultSchemaNamer(t, hint)
	if t.PkgPath() == "" {
		return name
	}
	return path.Base(t.PkgPath()) + "." + name
}

func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		"management": {Type: "http", Scheme: "bearer", Description: "A management key (gavel_mgt_…): Authorization: Bearer <key>."},
		"auction":    {Type: "http", Scheme: "bearer", Description: "An auction key (gavel_auc_…): Authorization: Bearer <key>."},
	}
}

func errorSchema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[ErrorBody](), true, "")
}

// refusals documents what every management operation may answer beside its success, and the rate limit headers on all.
func refusals(r huma.Registry, success int) map[string]*huma.Response {
	all := map[string]*huma.Response{strconv.Itoa(success): {Description: http.StatusText(success), Headers: rateHeaders()}}
	for status, text := range map[int]string{
		http.StatusBadRequest:            "The request cannot be read.",
		http.StatusUnauthorized:          "The key is absent, malformed, unknown, expired or revoked.",
		http.StatusForbidden:             "The key is of the wrong kind, or the marketplace is suspended.",
		http.StatusNotFound:              "A resource named in the path, the query or by a single reference is unknown.",
		http.StatusConflict:              "A unique value is taken, or the resource is in the wrong state.",
		http.StatusRequestEntityTooLarge: "The body is over its limit.",
		http.StatusUnsupportedMediaType:  "The content type or encoding is not accepted.",
		http.StatusTooManyRequests:       "The rate limit is used up.",
		http.StatusInternalServerError:   "A defect.",
		http.StatusServiceUnavailable:    "Not available right now; repeat after Retry-After.",
	} {
		all[strconv.Itoa(status)] = &huma.Response{Description: text, Headers: rateHeaders(), Content: jsonOf(errorSchema(r))}
	}
	all["422"] = &huma.Response{
		Description: "The request does not match the model; all violations are listed, at most 50.",
		Headers:     rateHeaders(),
		Content:     jsonOf(r.Schema(reflect.TypeFor[Violations](), true, "")),
	}
	return all
}

func jsonOf(s *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: s}}
}

func rateHeaders() map[string]*huma.Param {
	integer := &huma.Schema{Type: huma.TypeInteger}
	return map[string]*huma.Param{
		"X-RateLimit-Limit":     {Description: "Requests allowed in a window.", Schema: integer},
		"X-RateLimit-Remaining": {Description: "Requests left in this window.", Schema: integer},
		"X-RateLimit-Reset":     {Description: "End of the window, Unix seconds.", Schema: integer},
	}
}

// compilePatterns compiles the patterns of an operation once, when it is added. A bad pattern is a defect of ours.
func (k *kit) compilePatterns(_ *huma.OpenAPI, op *huma.Operation) {
	seen := map[*huma.Schema]bool{}
	for _, p := range op.Parameters {
		k.compile(p.Schema, seen)
	}
	if op.RequestBody != nil {
		for _, m := range op.RequestBody.Content {
			k.compile(m.Schema, seen)
		}
	}
}

func (k *kit) compile(s *huma.Schema, seen map[*huma.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if s.Ref != "" {
		k.compile(k.registry.SchemaFromRef(s.Ref), seen)
		return
	}
	if s.Pattern != "" {
		k.patterns[s.Pattern] = regexp.MustCompile(s.Pattern)
	}
	k.compile(s.Items, seen)
	for _, p := range s.Properties {
		k.compile(p, seen)
	}
}

// Trimmed returns a public URL without its final slash, as the kit wants it.
func Trimmed(publicURL string) string { return strings.TrimRight(publicURL, "/") }
