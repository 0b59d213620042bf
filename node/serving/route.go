package serving

import (
	"bytes"

	"github.com/gavel-ads/gavel/node/apierr"
)

// endpoint is one path of this core with its operation.
type endpoint struct {
	op     Operation
	method string // If it is GET, HEAD is allowed too.
	allow  []byte
	handle func(*Core, *Scratch, *Request) apierr.Code
	onV2   bool // Browsers may call it, so every answer has CORS header fields.
}

func (e *endpoint) serves(method []byte) bool {
	return string(method) == e.method || e.method == "GET" && string(method) == "HEAD"
}

var (
	auctionsEndpoint = &endpoint{OpAuctions, "POST", []byte("POST, OPTIONS"), (*Core).auctions, true}
	brandsEndpoint   = &endpoint{OpBrands, "POST", []byte("POST, OPTIONS"), (*Core).brands, true}
	travelEndpoint   = &endpoint{OpTravel, "POST", []byte("POST, OPTIONS"), (*Core).travel, true}
	eventsEndpoint   = &endpoint{OpEvents, "POST", []byte("POST, OPTIONS"), (*Core).events, true}
	linkEndpoint     = &endpoint{OpLinkUsers, "POST", []byte("POST, OPTIONS"), (*Core).linkUsers, true}
	healthEndpoint   = &endpoint{OpHealth, "GET", []byte("GET, HEAD, OPTIONS"), (*Core).health, false}
)

// lookup finds the endpoint of a clean path.
func lookup(path []byte) *endpoint {
	switch string(path) {
	case "/v2/auctions":
		return auctionsEndpoint
	case "/v2/auctions/sponsored-brand":
		return brandsEndpoint
	case "/v2/auctions/travel":
		return travelEndpoint
	case "/v2/events":
		return eventsEndpoint
	case "/v2/events/beta/link-users":
		return linkEndpoint
	case "/healthz":
		return healthEndpoint
	default:
		return nil
	}
}

// target is the parsed request target.
type target struct {
	endpoint  *endpoint // Nil when the path has no endpoint.
	onV2      bool
	malformed bool // The path is not valid. On the management listener net/http refuses such a request before any handler.
}

// route finds the endpoint of a request. It first looks up the path as it is, because clients send clean paths, and cleans
// it only if that finds nothing.
func (c *Core) route(sc *Scratch, r *Request) target {
	path, _ := SplitTarget(r.Target)
	if e := lookup(path); e != nil {
		return target{e, e.onV2, false}
	}
	clean, good := AppendCleanPath(sc.path[:0], path)
	sc.path = clean
	if !wellFormed(path) {
		return target{nil, onV2(clean), true}
	}
	if !good {
		return target{nil, onV2(clean), false}
	}
	return target{lookup(clean), onV2(clean), false}
}

// wellFormed reports whether a path begins with '/', or is the '*' of OPTIONS, and has no broken percent-encoding.
func wellFormed(path []byte) bool {
	if len(path) > 0 && path[0] != '/' && string(path) != "*" {
		return false
	}
	for i := bytes.IndexByte(path, '%'); i >= 0; i = bytes.IndexByte(path, '%') {
		if len(path) < i+3 || !isHex(path[i+1]) || !isHex(path[i+2]) {
			return false
		}
		path = path[i+3:]
	}
	return true
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func onV2(clean []byte) bool { return bytes.HasPrefix(clean, []byte("/v2/")) }

// IsV2 reports whether a request target is below /v2/ under the path rule. A listener that serves other paths too uses it to
// find the requests of the core.
func IsV2(requestTarget []byte) bool {
	path, _ := SplitTarget(requestTarget)
	clean, _ := AppendCleanPath(nil, path)
	return onV2(clean)
}

// SplitTarget returns path and query of a request target. It ignores the scheme and host of an absolute target, and removes
// a fragment, which clients should not send.
func SplitTarget(t []byte) (path, query []byte) {
	if len(t) > 0 && t[0] != '/' {
		if i := bytes.Index(t, []byte("://")); i >= 0 {
			t = t[i+3:]
			if i = bytes.IndexAny(t, "/?#"); i < 0 {
				return nil, nil
			}
			t = t[i:]
		}
	}
	t, _, _ = bytes.Cut(t, []byte{'#'})
	path, query, _ = bytes.Cut(t, []byte{'?'})
	return path, query
}

// AppendCleanPath is the path rule of both listeners. It appends the path with runs of '/' collapsed, without decoding it,
// and reports whether a resource may exist there: no segment may be "." or "..", in any encoding. A trailing slash stays
// and makes another path. Nothing is ever redirected, because clients repeat a redirected POST as a GET.
func AppendCleanPath(dst, path []byte) (clean []byte, good bool) {
	good = len(path) > 0 && path[0] == '/'
	for len(path) > 0 {
		if path[0] == '/' {
			dst = append(dst, '/')
			for len(path) > 0 && path[0] == '/' {
				path = path[1:]
			}
			continue
		}
		end := bytes.IndexByte(path, '/')
		if end < 0 {
			end = len(path)
		}
		good = good && !isDotSegment(path[:end])
		dst = append(dst, path[:end]...)
		path = path[end:]
	}
	return dst, good
}

// isDotSegment reports whether a segment is one or two dots, each plain or encoded as %2e.
func isDotSegment(segment []byte) bool {
	n := 0
	for ; len(segment) > 0; n++ {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && segment[0] == '%' && segment[1] == '2' && segment[2]|0x20 == 'e':
			segment = segment[3:]
		default:
			return false
		}
	}
	return n == 1 || n == 2
}
