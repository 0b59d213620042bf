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

	valueAny           = []byte("*")
	valueOrigin        = []byte("Origin")
	valueMethods       = []byte("GET, POST, PUT, PATCH, DELETE, OPTIONS")
	valueHeaders       = []byte("authorization, content-type, accept, x-ua, x-request-id")
	valueMaxAge        = []byte("7200")
	valueExposeHeaders = []byte("X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After")
)

const requestHeadersMax = 1 << 10 // BOUND: bytes of header names that the answer to a preflight echoes.

// cors decides which origins may call from a browser. The origins of storefronts are not known beforehand, so every origin
// may call unless the configuration lists some. Credentials are never allowed: scripts send the key in a header.
type cors struct{ origins [][]byte } // Empty means every origin.

func newCORS(origins []string) cors {
	if slices.Contains(origins, "*") {
		return cors{}
	}
	c := cors{}
	for _, o := range origins {
		c.origins = append(c.origins, []byte(o))
	}
	return c
}

// append adds the CORS fields to an answer. Errors have them too, because otherwise a browser hides the error from the page.
func (c cors) append(sc *Scratch, r *Request, op Operation) {
	switch {
	case len(c.origins) == 0:
		sc.add(nameAllowOrigin, valueAny)
	default:
		sc.add(nameVary, valueOrigin)
		if !c.listed(r.Origin) {
			return
		}
		sc.add(nameAllowOrigin, r.Origin)
	}
	if op != OpPreflight {
		sc.add(nameExposeHeaders, valueExposeHeaders)
		return
	}
	sc.add(nameAllowMethods, valueMethods)
	if headers := bytes.TrimSpace(r.RequestHeaders); isTokenList(headers) {
		sc.add(nameAllowHeaders, headers)
	} else {
		sc.add(nameAllowHeaders, valueHeaders)
	}
	sc.add(nameMaxAge, valueMaxAge)
}

func (c cors) listed(origin []byte) bool {
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
