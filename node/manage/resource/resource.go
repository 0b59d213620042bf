// Package resource is the kit that every management resource is built with: one operation is one value (Op) and one typed
// function, and what is common to all of them happens here, once.
//
// The kit checks a request against the schema of its operation before the typed function runs, answers errors in the two
// shapes of the interface, and documents both. DESIGN.md says why it checks by itself and leaves only the description and
// the binding to huma.
package resource

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/background"
)

// Caller is who sent a request, as the door found out from its key. Tenant is the store of the key's marketplace: nothing
// of another marketplace can be named through it.
type Caller struct {
	Marketplace uint16
	KeyID       string
	Vendor      string // Only of a token of the vendors' dialog, which KeyID asked for: whose it is.
	Tenant      any
	// Background runs operations that may take long; nil runs them at once.
	Background *background.Scheduler
}

type callerKey struct{}

// WithCaller puts the caller into the context that operations run with.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns who sent the request. REQUIRES: the door called WithCaller.
func CallerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}).(Caller) }

// Tenant returns the caller's store as the small interface S that a resource declares. The list of resources guards at
// compile time that the real store has all of them.
func Tenant[S any](ctx context.Context) S { return CallerOf(ctx).Tenant.(S) }

// Config is what the kit needs to know.
type Config struct {
	Title     string
	Version   string
	PublicURL string // Without a final slash; the docUrl of errors starts with it.
	Logger    *slog.Logger
}

// kit is the state behind one API.
type kit struct {
	registry  huma.Registry
	publicURL string
	logger    *slog.Logger
	patterns  map[string]*regexp.Regexp // INVARIANT: filled while operations are added, only read afterwards.
}

// globals are the two settings that huma keeps in package variables.
var globals sync.Once

// New returns an API on mux. Operations are added with Add, each resource by its own Register function.
func New(mux humago.Mux, c Config) huma.API {
	globals.Do(func() {
		huma.NewError = newProblem
		huma.DefaultArrayNullable = false // Our arrays are never null, in either direction.
	})
	k := &kit{publicURL: c.PublicURL, logger: c.Logger, patterns: map[string]*regexp.Regexp{}}
	k.registry = huma.NewMapRegistry("#/components/schemas/", schemaName)
	k.registry.RegisterTypeAlias(reflect.TypeFor[json.Number](), reflect.TypeFor[Decimal]()) // huma takes it for a string.
	format := huma.Format{Marshal: marshal, Unmarshal: json.Unmarshal}
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: c.Title, Version: c.Version},
			Servers: []*huma.Server{{URL: c.PublicURL}},
			Components: &huma.Components{
				Schemas: k.registry, SecuritySchemes: securitySchemes(),
				Responses: sharedResponses(k.registry), Headers: sharedHeaders(),
			},
		},
		Formats:       map[string]huma.Format{"application/json": format},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{k.writeProblem},
	}
	config.AllowAdditionalPropertiesByDefault = true // Unknown members are ignored, and the document says so.
	api := humago.New(mux, config)
	api.UseMiddleware(k.check)
	api.OpenAPI().OnAddOperation = append(api.OpenAPI().OnAddOperation, k.compilePatterns)
	return api
}

// marshal writes compact JSON without a final line feed, so that Content-Length is what a reader counts.
func marshal(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// Op describes one operation; everything that is the same for all of them is added by Add.
type Op struct {
	ID     string // Operation id, unique; also the metric label and the scope of page cursors.
	Method string
	Path   string
	Status int // Of success; 200 when zero.
	Tag    string
	Doc    string // One sentence for the reference.
	Key    string // What the operation asks for; ManagementKey when empty.
	// Vendor is set for operations that ask for a ModalToken, and for no others.
	Vendor *VendorScope
	// Background is set of an operation that may take long: it runs when it is its turn, beside auctions, and steps the
	// background.Work of its context in its loops.
	Background background.Kind
}

// What operations ask for, by the names of the security schemes.
const (
	ManagementKey = "management"
	ModalToken    = "modal"    // A token of the vendors' dialog.
	OperatorKey   = "operator" // A management key of the first marketplace: of whoever runs the cluster.
)

// VendorScope says how the requests of an operation are bound to the vendor of the token they come with.
type VendorScope struct {
	// Path is the name of the path value that must be the vendor's id. Empty: the request names no vendor, and the operation
	// reads and changes only what belongs to the vendor of the token (Caller.Vendor).
	Path string
}

// vendorScope is where Add keeps the scope of an operation for VendorScopeOf.
const vendorScope = "vendorScope"

// VendorScopeOf returns how an operation is bound to the vendor of a token; nil: it takes no tokens.
func VendorScopeOf(op *huma.Operation) *VendorScope {
	scope, _ := op.Metadata[vendorScope].(*VendorScope)
	return scope
}

// Add mounts an operation: the input's path, query and body members are checked against its tags and bound, errors are
// answered in the interface's shapes, and the OpenAPI document gets an entry.
func Add[I, O any](api huma.API, op Op, serve func(context.Context, *I) (*O, error)) {
	status := op.Status
	if status == 0 {
		status = http.StatusOK
	}
	h := huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: op.Path, DefaultStatus: status, Tags: []string{op.Tag}, Summary: op.Doc,
		SkipValidateParams: true, SkipValidateBody: true, MaxBodyBytes: -1, // Checked before: see kit.check.
		BodyReadTimeout: -1, // The body is in memory by now.
		Security:        []map[string][]string{{cmp.Or(op.Key, ManagementKey): {}}},
		Responses:       responses(api.OpenAPI().Components.Responses, status),
		Metadata:        map[string]any{vendorScope: op.Vendor},
	}
	if op.Method == http.MethodPost {
		h.Parameters = []*huma.Param{idempotencyKey()}
	}
	if op.Method == http.MethodGet {
		h.Parameters = consistency()
	}
	huma.Register(api, h, inBackground(op.Background, serve))
	nullable(api.OpenAPI().Components.Schemas, reflect.TypeFor[O](), map[reflect.Type]bool{})
}

// Empty is the answer of operations that answer {}.
type Empty struct{}

// Done is the output of such an operation.
type Done struct{ Body Empty }

// check is the middleware that stands between the door and every typed function.
func (k *kit) check(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if p := k.checkRequest(r, ctx.Operation()); p != nil {
		k.refuse(w, p)
		return
	}
	next(ctx)
}

func (k *kit) checkRequest(r *http.Request, op *huma.Operation) *Problem {
	found := k.checkParams(r, op)
	if op.RequestBody == nil {
		return invalid(found)
	}
	body, err := io.ReadAll(r.Body) // The door has read and bounded it.
	if err != nil {
		return &Problem{Code: apierr.RequestCanceled, Cause: err}
	}
	if len(body) == 0 && !op.RequestBody.Required {
		return invalid(found)
	}
	c := checker{kit: k, data: body, found: found, loc: []string{"body"}}
	if p := c.body(op.RequestBody.Content["application/json"].Schema); p != nil {
		return p
	}
	k.rebind(r, c.out)
	return nil
}

func invalid(found []Violation) *Problem {
	if len(found) == 0 {
		return nil
	}
	return &Problem{Violations: found}
}

// Describe documents an operation that is served apart, because its request is no JSON. The answer is shown by example of
// its type.
func Describe(api huma.API, op Op, body *huma.RequestBody, params []*huma.Param, answer any) {
	doc := api.OpenAPI()
	h := huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: op.Path, Tags: []string{op.Tag}, Summary: op.Doc,
		Security:    []map[string][]string{{ManagementKey: {}}},
		RequestBody: body, Parameters: params, Responses: responses(doc.Components.Responses, http.StatusOK),
	}
	t := reflect.TypeOf(answer)
	h.Responses["200"].Content = jsonOf(doc.Components.Schemas.Schema(t, true, t.Name()))
	doc.AddOperation(&h)
}
