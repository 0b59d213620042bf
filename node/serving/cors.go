package serving

import (
	"bytes"
	"slices"
)

var (
	nameAllowOrigin   = []byte("Access-Control-Allow-Origin")
	nameAllowMethods  = []byte("Access-Control-Allow-Methods")
	nameAllowHeaders  = []byte("Access-Control-Allow-Headers")
	nameMaxAge        = []byte("Access-Control-Max-Age")
	nameExposeHeaders = []byte("Access-Control-Expose-Headers")
	nameVary          = []byte("Vary")

	valueAny     = []byte("*")
	valueOrigin  = []byte("Origin")
	valueMethods = []byte("GET, POST, PUT, PATCH, DELETE, OPTIONS")
	valueHeaders = []byte("authorization, content-type, accept, x-ua, x-request-id")
	valueMaxAge  = []byte("7200")
)

const requestHeadersMax = 1 << 10 // BOUND: bytes of header names that the answer to a preflight echoes.

// ReadableHeaders are the header fields that scripts may read in an answer of either listener.
const ReadableHeaders = "X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After"

// CORS decides which origins may call from a browser, for both listeners. Credentials are never allowed: scripts send the
// key in a header. It does not change, so any number of requests may use it.
type CORS struct {
	origins  [][]byte // Empty means every origin.
	readable []byte
}

// NewCORS returns the rules for the listed origins; an empty list, or * in it, is every origin. Scripts may read the header
// fields that readable lists.
func NewCORS(origins []string, readable string) *CORS {
	c := &CORS{readable: []byte(readable)}
	if slices.Contains(origins, "*") {
		return c
	}
	for _, o := range origins {
		c.origins = append(c.origins, []byte(o))
	}
	return c
}

// Append appends the CORS fields of an answer to dst. Errors have them too, because otherwise a browser hides the error from
// the page. The answer to a preflight allows the requested header names when they are well formed.
// OWNERSHIP: the fields refer to origin and requested.
func (c *CORS) Append(dst []Field, preflight bool, origin, requested []byte) []Field {
	if len(c.origins) == 0 {
		dst = append(dst, Field{nameAllowOrigin, valueAny})
	} else {
		dst = append(dst, Field{nameVary, valueOrigin})
		if !c.listed(origin) {
			return dst
		}
		dst = append(dst, Field{nameAllowOrigin, origin})
	}
	if !preflight {
		return append(dst, Field{nameExposeHeaders, c.readable})
	}
	allowed := valueHeaders
	if names := bytes.TrimSpace(requested); isTokenList(names) {
		allowed = names
	}
	return append(dst, Field{nameAllowMethods, valueMethods}, Field{nameAllowHeaders, allowed}, Field{nameMaxAge, valueMaxAge})
}

func (c *CORS) listed(origin []byte) bool {
	return slices.ContainsFunc(c.origins, func(o []byte) bool { return bytes.Equal(o, origin) })
}

// isTokenList reports whether text is a comma-separated list of header names, which is safe to send back.
func isTokenList(text []byte) bool {
	if len(text) == 0 || len(text) > requestHeadersMax {
		return false
	}
	for len(text) > 0 {
		name, rest, more := bytes.Cut(text, []byte(","))
		name = bytes.Trim(name, " \t")
		if len(name) == 0 || more && len(bytes.Trim(rest, " \t")) == 0 {
			return false
		}
		for _, c := range name {
			if !tokenByte(c) {
				return false
			}
		}
		text = rest
	}
	return true
}

// tokenByte reports whether c is allowed in a token of RFC 9110, section 5.6.2.
func tokenByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0
}
