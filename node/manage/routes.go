package manage

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/manage/audience"
	"github.com/gavel-ads/gavel/node/manage/campaign"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/serving"
)

const (
	publicV1     = "/public/v1/"
	catalogPaths = "/public/v1/catalog-search-service/"
)

// route is one method and path template of this listener, with everything that follows from it. Its members are set while the server
// is built.
//
// INVARIANT: what a request may do, which limit counts it and how it is answered follows from its route and from path values that
// the mux decoded, never from the text of its path, because one path has many spellings.
type route struct {
	pattern   string // Method, blank and path template, as registered with the mux.
	method    string
	path      string // The template.
	operation string // Operation id in the description; empty for pages and health checks.
	success   int    // The status of success in the description.
	serve     http.HandlerFunc

	api        bool                  // True for /public/v1: a key is required, and the answer is buffered.
	dialog     bool                  // True for the vendors' dialog, which browsers of every origin may call.
	catalog    bool                  // True if the rate limit of the catalog counts it.
	streams    bool                  // True if its handler reads the body itself, because it is large and not JSON.
	personal   bool                  // True if the path names a person.
	item       bool                  // True if the path names one resource and not a list.
	credential string                // The required credential, by the name of the security scheme; empty means none.
	session    *console.Rule         // Set for a route of the console, which takes login sessions and no keys.
	vendor     *resource.VendorScope // How a vendor's token is bound to its vendor; nil means that tokens are refused.
}

// routes are all routes. The mux only matches. Its registered handlers answer nothing, so its redirects and its plain texts never
// reach a client.
type routes struct {
	mux       *http.ServeMux
	byPattern map[string]*route
}

func newRoutes() *routes { return &routes{http.NewServeMux(), map[string]*route{}} }

// HandleFunc adds a route. It panics when the pattern conflicts with another one, as the mux does.
func (t *routes) HandleFunc(pattern string, serve func(http.ResponseWriter, *http.Request)) {
	method, path, _ := strings.Cut(pattern, " ")
	t.add(&route{
		pattern: pattern, method: method, path: path, serve: serve, item: strings.Contains(path, "{"),
		api: strings.HasPrefix(path, publicV1), dialog: strings.HasPrefix(path, campaign.DialogBase), catalog: strings.HasPrefix(path, catalogPaths),
	})
}

// add adds a route that is complete.
func (t *routes) add(rt *route) {
	t.mux.HandleFunc(rt.pattern, func(http.ResponseWriter, *http.Request) {})
	t.byPattern[rt.pattern] = rt
}

// all returns all routes in the order of their patterns.
func (t *routes) all() []*route {
	all := make([]*route, 0, len(t.byPattern))
	for _, pattern := range slices.Sorted(maps.Keys(t.byPattern)) {
		all = append(all, t.byPattern[pattern])
	}
	return all
}

// Handle adds a route.
func (t *routes) Handle(pattern string, h http.Handler) { t.HandleFunc(pattern, h.ServeHTTP) }

// ServeHTTP serves a matched request.
func (t *routes) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.of(r).serve(w, r) }

// of returns the route that match found for a request.
func (t *routes) of(r *http.Request) *route { return t.byPattern[r.Pattern] }

// match brings the path of a request into its canonical spelling, in place, and finds its route. From then on the request has the
// route's pattern and path values. Without a route match returns the methods that the path allows, with OPTIONS, or an empty text
// when the path is unknown.
func (t *routes) match(r *http.Request) (rt *route, allow string) {
	path, _ := serving.SplitTarget([]byte(r.RequestURI))
	clean, good := serving.AppendCleanPath(nil, path)
	plain, canonical, err := canonicalPath(string(clean))
	if !good || err != nil {
		return nil, ""
	}
	r.URL.Path, r.URL.RawPath = plain, canonical
	buffer := newBufferedResponse()
	t.mux.ServeHTTP(buffer, r)
	if buffer.status == 0 {
		return t.of(r), ""
	}
	if allow = buffer.header.Get("Allow"); allow != "" {
		allow += ", OPTIONS"
	}
	return nil, allow
}

// sibling returns a route of the same path for the first method in allow.
func (t *routes) sibling(r *http.Request, allow string) *route {
	other := r.Clone(r.Context())
	other.Method, _, _ = strings.Cut(allow, ",")
	t.mux.ServeHTTP(newBufferedResponse(), other)
	return t.of(other)
}

// canonicalPath decodes every segment of a clean path and encodes it again, so that a path has one spelling, which the mux does not
// change. An encoded '/' stays data of its segment.
func canonicalPath(clean string) (plain, canonical string, err error) {
	segments := strings.Split(clean, "/")
	for i, segment := range segments {
		if segments[i], err = url.PathUnescape(segment); err != nil {
			return "", "", err
		}
	}
	plain = strings.Join(segments, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return plain, strings.Join(segments, "/"), nil
}

// successOf returns the status that an operation is answered with when it succeeds.
func successOf(op *huma.Operation) int {
	for status := http.StatusOK; status < http.StatusMultipleChoices; status++ {
		if op.Responses[strconv.Itoa(status)] != nil {
			return status
		}
	}
	return http.StatusOK
}

// applyDescription copies operation ids, credentials and vendor scopes from the description to the routes. It returns an error for a
// route of the API without a credential, which would be open to everybody, so that no server is built with one.
func (t *routes) applyDescription(api *huma.OpenAPI) error {
	for path, item := range api.Paths {
		for method, op := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
			http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
		} {
			rt := t.byPattern[method+" "+path]
			if op == nil || rt == nil || !rt.api && !rt.item {
				continue // The core of /v2 serves it, or it is a health check, which is not counted.
			}
			rt.operation, rt.streams = op.OperationID, op.OperationID == audience.SegmentUploadID
			rt.success = successOf(op)
			rt.vendor, rt.personal = resource.VendorScopeOf(op), resource.IsPersonal(op)
			for _, requirement := range op.Security {
				for scheme := range requirement {
					rt.credential = scheme
				}
			}
		}
	}
	for pattern, rt := range t.byPattern {
		scoped := rt.vendor != nil && (rt.vendor.Path == "" || strings.Contains(rt.path, "{"+rt.vendor.Path+"}"))
		switch {
		case rt.api && (rt.operation == "" || rt.credential == ""):
			return fmt.Errorf("%s: a route of the management API needs an operation and a credential", pattern)
		case scoped != (rt.credential == resource.ModalToken):
			return fmt.Errorf("%s: an operation for vendors' tokens, and no other, has a vendor scope that fits its path", pattern)
		}
	}
	return nil
}
