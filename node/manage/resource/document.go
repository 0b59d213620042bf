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
	return publishedName(path.Base(t.PkgPath()), name)
}

func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		ManagementKey: {Type: "http", Scheme: "bearer", Description: "A management key (gavel_mgt_…): Authorization: Bearer <key>."},
		OperatorKey:   {Type: "http", Scheme: "bearer", Description: "A management key of the first marketplace, with which the cluster was created."},
		ModalToken:    {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "A token of the vendors' dialog (authorizeModalVendor), good for one vendor and an hour."},
		"auction":     {Type: "http", Scheme: "bearer", Description: "An auction key (gavel_auc_…): Authorization: Bearer <key>."},
	}
}

func errorSchema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[ErrorBody](), true, "")
}

// sharedResponses are the error answers of every management operation, described once.
func sharedResponses(r huma.Registry) map[string]*huma.Response {
	all := map[string]*huma.Response{"422": {
		Description: "The request does not match the model; all violations are listed, at most 50.",
		Headers:     rateHeaders(),
		Content:     jsonOf(r.Schema(reflect.TypeFor[Violations](), true, "")),
	}}
	for status, text := range map[string]string{
		"400": "The request cannot be read.",
		"401": "The key is absent, malformed, unknown, expired or revoked.",
		"403": "The key is of the wrong kind, or the marketplace is suspended.",
		"404": "A resource named in the path, the query or by a single reference is unknown.",
		"409": "A unique value is taken, or the resource is in the wrong state.",
		"413": "The body is over its limit.",
		"415": "The content type or encoding is not accepted.",
		"429": "The rate limit is used up.",
		"500": "An internal error.",
		"503": "Not available right now; repeat after Retry-After.",
	} {
		all[status] = &huma.Response{Description: text, Headers: rateHeaders(), Content: jsonOf(errorSchema(r))}
	}
	return all
}

// responses documents the answers of an operation: its success, and references to the shared responses.
func responses(shared map[string]*huma.Response, success int) map[string]*huma.Response {
	all := map[string]*huma.Response{strconv.Itoa(success): {Description: http.StatusText(success), Headers: rateHeaders()}}
	for status := range shared {
		all[status] = &huma.Response{Ref: "#/components/responses/" + status}
	}
	return all
}

func jsonOf(s *huma.Schema) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: s}}
}

// rateHeaders refers to the headers that sharedHeaders describes.
func rateHeaders() map[string]*huma.Param {
	refs := map[string]*huma.Param{}
	for name := range sharedHeaders() {
		refs[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
	return refs
}

func sharedHeaders() map[string]*huma.Param {
	integer := &huma.Schema{Type: huma.TypeInteger}
	return map[string]*huma.Param{
		"X-RateLimit-Limit":     {Description: "Requests allowed in a window.", Schema: integer},
		"X-RateLimit-Remaining": {Description: "Requests left in this window.", Schema: integer},
		IgnoredHeader:           {Description: "Members of the request that are not known and were ignored, by their paths.", Schema: &huma.Schema{Type: huma.TypeString}},
		"X-Gavel-Token":         {Description: "Only if the request wrote something. Send it with a later request, to any node, to read what was written.", Schema: &huma.Schema{Type: huma.TypeString}},
		"X-RateLimit-Reset":     {Description: "End of the window, Unix seconds.", Schema: integer},
	}
}

// idempotencyKey documents the header that the listener accepts for every POST.
func idempotencyKey() *huma.Param {
	least, most := 1, 64
	return &huma.Param{
		Name: "Idempotency-Key", In: "header",
		Description: "Kept 24 h by the cluster: a repeat with the same body, at any node, gets the same answer, with another body a 409.",
		Schema:      &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most},
	}
}

// The query parameter that says how new an answer has to be, and its values.
const (
	ConsistencyParam = "consistency"
	Local            = "local"
	linearizable     = "linearizable"
)

// consistency documents the query parameter and the header that the listener accepts for every GET.
func consistency() []*huma.Param {
	return []*huma.Param{
		{
			Name: ConsistencyParam, In: "query",
			Description: "linearizable, the default: the answer has everything that any node of the cluster answered before. " +
				"local: what this node has, without asking its peers; with X-Gavel-Token at least what that write left.",
			Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{linearizable, Local}},
		},
		{
			Name: "X-Gavel-Token", In: "header", Description: "The X-Gavel-Token of an earlier answer: this one contains what that request wrote.",
			Schema: &huma.Schema{Type: huma.TypeString},
		},
	}
}

// compilePatterns compiles the patterns of an operation when it is added. It panics on an invalid pattern, which is a defect.
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
	for _, form := range s.OneOf {
		k.compile(form, seen)
	}
	for _, p := range s.Properties {
		k.compile(p, seen)
	}
}

// Trimmed returns a public URL without its final slash, as Config.PublicURL requires.
func Trimmed(publicURL string) string { return strings.TrimRight(publicURL, "/") }
