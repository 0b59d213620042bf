package manage

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/node/manage/campaign"
)

const (
	requestHeadersMax = 1 << 10 // BOUND: names echoed in a preflight.
	corsMethods       = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
	corsHeaders       = "authorization, content-type, accept, x-ua, x-request-id"
	corsExpose        = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, X-Gavel-Token"
	corsMaxAge        = "7200"
)

// corsHeaders sets the CORS headers. Every origin may call the vendors' dialog, unless some are configured, because its pages have
// no key. Only the configured origins may call the rest of the management API, none by default, because management keys do
// not belong in browsers. /v2 has its own rules, in its core.
//
// The decision follows from the route of the path, under whatever method. Only for a path without a route does the text of the path
// decide; its answer contains nothing that an origin must not read.
func (s *Server) corsHeaders(h http.Header, r *http.Request, rt *route) {
	if rt == nil {
		rt = &route{dialog: strings.HasPrefix(r.URL.Path, campaign.DialogBase), api: strings.HasPrefix(r.URL.Path, publicV1)}
		if !rt.api {
			// A page that mistypes a path of /v2 has to be able to read the error.
			h.Set("Access-Control-Allow-Origin", "*")
		}
	}
	origins := s.config.CORSOrigins
	if rt.dialog {
		origins = append(slices.Clip(origins), s.config.PageOrigins...)
		if len(s.config.PageOrigins) == 0 || slices.Contains(s.config.PageOrigins, "*") {
			h.Set("Access-Control-Allow-Origin", "*")
			allowOrigin(h, r)
			return
		}
	}
	if len(origins) == 0 || !rt.api {
		return
	}
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(origins, origin) {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	allowOrigin(h, r)
}

// allowOrigin sets what an allowed origin may send and read.
func allowOrigin(h http.Header, r *http.Request) {
	if r.Method != http.MethodOptions {
		h.Set("Access-Control-Expose-Headers", corsExpose)
		return
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	if names := r.Header.Get("Access-Control-Request-Headers"); headerNames(names) {
		h.Set("Access-Control-Allow-Headers", names)
	}
}

// headerNames reports whether text is a list of header names that is safe to send back.
func headerNames(text string) bool {
	if text == "" || len(text) > requestHeadersMax {
		return false
	}
	for name := range strings.SplitSeq(text, ",") {
		name = strings.Trim(name, " \t")
		if name == "" || strings.ContainsFunc(name, notTokenRune) {
			return false
		}
	}
	return true
}

// notTokenRune is the complement of tchar in RFC 9110, section 5.6.2.
func notTokenRune(c rune) bool {
	return !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
}
