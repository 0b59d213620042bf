package manage

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/manage/campaign"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/serving"
)

// corsRules are the rules for browsers on this listener. /v2 has its own rules, in its core.
type corsRules struct {
	api    *serving.CORS // Of the management API; nil means that no browser may call it.
	dialog *serving.CORS // Of the vendors' dialog.
}

// newCORSRules lets every origin call the vendors' dialog, unless some are configured, because its pages have no key. Only the
// configured origins may call the rest of the management API, none by default, because management keys do not belong in
// browsers.
func newCORSRules(c *Config) corsRules {
	const readable = serving.ReadableHeaders + ", X-Gavel-Token"
	rules := corsRules{dialog: serving.NewCORS(nil, readable)}
	if len(c.PageOrigins) > 0 {
		rules.dialog = serving.NewCORS(slices.Concat(c.PageOrigins, c.CORSOrigins), readable)
	}
	if len(c.CORSOrigins) > 0 {
		const ofCSV = ", Link, " + resource.CompleteThroughHeader
		rules.api = serving.NewCORS(c.CORSOrigins, readable+ofCSV)
	}
	return rules
}

// setCORS sets the header fields for browsers. The decision follows from the route of the path, under whatever method. Only
// for a path without a route does the text of the path decide; its answer contains nothing that an origin must not read.
func (s *Server) setCORS(h http.Header, r *http.Request, rt *route) {
	var rules *serving.CORS
	switch {
	case rt == nil && strings.HasPrefix(r.URL.Path, campaign.DialogBase), rt != nil && rt.dialog:
		rules = s.cors.dialog
	case rt != nil && rt.session != nil, strings.HasPrefix(r.URL.Path, console.Base+"/"):
		return // The console's own pages alone call it.
	case rt == nil && !strings.HasPrefix(r.URL.Path, publicV1):
		// A page that mistypes a path of /v2 has to be able to read the error.
		h.Set("Access-Control-Allow-Origin", "*")
	case rt == nil || rt.api:
		rules = s.cors.api
	}
	if rules == nil {
		return
	}
	preflight := r.Method == http.MethodOptions
	for _, f := range rules.Append(nil, preflight, header(r, "Origin"), header(r, "Access-Control-Request-Headers")) {
		h.Set(string(f.Name), string(f.Value))
	}
}
