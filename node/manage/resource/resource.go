// Package resource is the kit that every management resource is built with. An operation is one value (Op) and one typed
// function; everything that is common to all operations is here.
//
// The kit checks a request against the schema of its operation before the typed function runs, answers errors in the two
// shapes of the interface, and documents both. node/manage/DESIGN.md says why it checks requests itself and leaves only the
// description and the binding to huma.
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
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/store"
)

// Caller is who sent a request, as the listener found out from its credential. Tenant is the store of the credential's marketplace:
// nothing of another marketplace can be named through it.
type Caller struct {
	Marketplace uint16
	KeyID       string // Empty for a user of the console, whom UserID and UserEmail name.
	UserID      string
	UserEmail   string
	Vendor      string // The vendor of a dialog's token, which KeyID requested, or of a user with a vendor role; empty for a key.
	Tenant      store.Tenant
	// Background schedules operations that may take long; if nil, they run at once.
	Background *limits.Scheduler
}

// Name names the caller in what is stored: key:ID or user:ID.
func (c Caller) Name() string {
	if c.UserID != "" {
		return "user:" + c.UserID
	}
	return "key:" + c.KeyID
}

type callerKey struct{}

// WithCaller puts the caller into the context that operations run with.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns who sent the request. REQUIRES: the context comes from WithCaller; otherwise it panics.
func CallerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}).(Caller) }

// Tenant returns the store of the caller's marketplace.
func Tenant(ctx context.Context) store.Tenant { return CallerOf(ctx).Tenant }

// Config configures the kit.
type Config struct {
	Title     string
	Version   string
	PublicURL string // Without a final slash; the docUrl of errors starts with it.
	Logger    *slog.Logger
	// Members are descriptions of members by their names; see DescribeMembers.
	Members map[string]string
}

// kit is the state behind one API.
type kit struct {
	registry  huma.Registry
	publicURL string
	logger    *slog.Logger
	general   map[string]bool           // The texts of Config.Members. They help no more in messages.
	patterns  map[string]*regexp.Regexp // INVARIANT: filled while operations are added, only read afterwards.
}

// globals guards the two settings that huma has as package variables.
var globals sync.Once

// New returns an API on mux. Operations are added with Add, each resource by its own Register function.
func New(mux humago.Mux, c Config) huma.API {
	globals.Do(func() {
		huma.NewError = newProblem
		huma.DefaultArrayNullable = false // Arrays are never null, neither in requests nor in answers.
	})
	k := &kit{publicURL: c.PublicURL, logger: c.Logger, patterns: map[string]*regexp.Regexp{}, general: map[string]bool{}}
	for _, text := range c.Members {
		k.general[text] = true
	}
	k.registry = huma.NewMapRegistry("#/components/schemas/", schemaName)
	k.registry.RegisterTypeAlias(reflect.TypeFor[json.Number](), reflect.TypeFor[Decimal]()) // huma would describe it as a string.
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
		Transformers:  []huma.Transformer{k.writeProblem, k.writeTable},
	}
	config.AllowAdditionalPropertiesByDefault = true // Unknown members are ignored, and the document says so.
	api := humago.New(mux, config)
	api.UseMiddleware(k.check)
	api.OpenAPI().OnAddOperation = append(api.OpenAPI().OnAddOperation, k.compilePatterns)
	return api
}

// marshal writes compact JSON without a final line feed, or a body that is CSV or Parquet already.
func marshal(w io.Writer, v any) error {
	if text, ok := v.(tableFile); ok {
		_, err := w.Write(text)
		return err
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// Op describes one operation. Add adds everything that is the same for all operations.
type Op struct {
	ID     string // Operation id, unique; also a metric label and the scope of page cursors.
	Method string
	Path   string
	Status int // Status of success; 0 means 200.
	Tag    string
	Doc    string // One sentence for the reference.
	Key    string // The required credential; empty means ManagementKey.
	// Vendor is set for operations that require a ModalToken, and for no others.
	Vendor *VendorScope
	// EmptyText makes the bounds of an optional text hold for empty text too. Elsewhere that counts as absent.
	EmptyText bool
	// Background is set for an operation that may take long: it waits for its turn, runs beside auctions, and has to call Step of
	// the limits.Work of its context in its loops.
	Background limits.Kind
	// Personal says that the path names a person: the audit log has the path's template instead.
	Personal bool
}

// The credentials of operations, by the names of the security schemes.
const (
	ManagementKey = "management"
	ModalToken    = "modal"    // A token of the vendors' dialog.
	OperatorKey   = "operator" // A management key of the first marketplace, which the cluster's operator has.
)

// VendorScope says how the requests of an operation are bound to the vendor of their token.
type VendorScope struct {
	// Path is the name of the path value that must be the vendor's id. If it is empty, the request names no vendor, and the operation
	// reads and changes only what belongs to the vendor of the token (Caller.Vendor).
	Path string
}

// Keys under which Add stores members of an Op in the metadata of its operation.
const (
	vendorScope = "vendorScope"
	emptyText   = "emptyText"
	personal    = "personal"
)

// IsPersonal reports whether the path of an operation names a person.
func IsPersonal(op *huma.Operation) bool { return op.Metadata[personal] == true }

// VendorScopeOf returns how an operation is bound to the vendor of a token, or nil when it accepts no tokens.
func VendorScopeOf(op *huma.Operation) *VendorScope {
	scope, _ := op.Metadata[vendorScope].(*VendorScope)
	return scope
}

// Add mounts an operation: the input's path, query and body members are checked against its tags and bound, errors are answered in
// the interface's shapes, and the OpenAPI document gets an entry. An answer whose body is Tabular can also be had as CSV or Parquet.
func Add[I, O any](api huma.API, op Op, serve func(context.Context, *I) (*O, error)) {
	status := op.Status
	if status == 0 {
		status = http.StatusOK
	}
	h := huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: op.Path, DefaultStatus: status, Tags: []string{op.Tag}, Summary: op.Doc,
		SkipValidateParams: true, SkipValidateBody: true, MaxBodyBytes: -1, // kit.check has checked them before.
		BodyReadTimeout: -1, // The listener has read the body already.
		Security:        []map[string][]string{{cmp.Or(op.Key, ManagementKey): {}}},
		Responses:       responses(api.OpenAPI().Components.Responses, status),
		Metadata:        map[string]any{vendorScope: op.Vendor, emptyText: op.EmptyText, personal: op.Personal},
	}
	if op.Method == http.MethodPost {
		h.Parameters = []*huma.Param{idempotencyKey()}
	}
	if op.Method == http.MethodGet {
		h.Parameters = consistency()
	}
	table, hasCSV := tabular(reflect.TypeFor[O]())
	if hasCSV {
		h.Parameters = append(h.Parameters, describeFormat())
	}
	huma.Register(api, h, inBackground(op.Background, checkOwner(serve)))
	if hasCSV {
		describeTable(h.Responses[strconv.Itoa(status)], &table)
	}
	nullable(api.OpenAPI().Components.Schemas, reflect.TypeFor[O](), map[reflect.Type]bool{})
}

// Empty is the answer of operations that answer {}.
type Empty struct{}

// Done is the output of an operation that answers {}.
type Done struct{ Body Empty }

// check is the middleware in front of every typed function.
func (k *kit) check(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if p := k.checkRequest(w.Header(), r, ctx.Operation()); p != nil {
		k.refuse(w, p)
		return
	}
	next(ctx)
}

// checkRequest checks parameters and body, and names ignored members in the header of the answer.
func (k *kit) checkRequest(answer http.Header, r *http.Request, op *huma.Operation) *Problem {
	found := k.checkParams(r, op)
	if op.RequestBody == nil {
		return invalid(found)
	}
	body, err := io.ReadAll(r.Body) // The listener has read and bounded it.
	if err != nil {
		return &Problem{Code: apierr.RequestCanceled, Cause: err}
	}
	if len(body) == 0 && !op.RequestBody.Required {
		return invalid(found)
	}
	c := checker{kit: k, data: body, found: found, loc: []string{"body"}, emptyText: op.Metadata[emptyText] == true}
	p := c.body(op.RequestBody.Content["application/json"].Schema)
	c.setIgnored(answer)
	if p != nil {
		return p
	}
	k.replaceBody(r, c.out)
	return nil
}

func invalid(found []Violation) *Problem {
	if len(found) == 0 {
		return nil
	}
	return &Problem{Violations: found}
}

// Describe documents an operation that is not registered with Add, because its request is not JSON. The schema of the answer
// follows from the type of answer.
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
