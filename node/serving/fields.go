package serving

import (
	"crypto/rand"
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/shard/ids"
)

// Header names and values of answers. They are byte slices made once, so that an answer allocates nothing.
var (
	nameContentType   = []byte("Content-Type")
	nameCacheControl  = []byte("Cache-Control")
	nameOptions       = []byte("X-Content-Type-Options")
	nameRequestID     = []byte("X-Request-Id")
	nameAllow         = []byte("Allow")
	nameAuthenticate  = []byte("Www-Authenticate")
	nameRetryAfter    = []byte("Retry-After")
	valueJSON         = []byte("application/json")
	valueNoStore      = []byte("no-store")
	valueNoSniff      = []byte("nosniff")
	valueBearer       = []byte(`Bearer realm="gavel"`)
	valuesRetrySecond = [...][]byte{[]byte("1"), []byte("2"), []byte("3")}
)

// fieldsMax is how many header fields an answer can have. BOUND: 4 that every answer has, 7 for CORS, 3 that depend on the
// code.
const fieldsMax = 14

func (sc *Scratch) add(name, value []byte) { sc.Fields = append(sc.Fields, Field{name, value}) }

// finish completes an answer: the body of a refusal, the status, the header fields every answer has, and the counters.
func (sc *Scratch) finish(c *Core, r *Request, t target, op Operation, code apierr.Code) {
	switch {
	case code != apierr.OK:
		sc.Status = code.Status()
		sc.refusal(c, code)
	case op == OpPreflight:
		sc.Status = http.StatusNoContent
		sc.Body = sc.Body[:0]
		sc.add(nameAllow, t.endpoint.allow)
	default:
		sc.Status = successStatus[op]
	}
	if sc.Status != http.StatusNoContent {
		sc.add(nameContentType, valueJSON)
	}
	sc.add(nameCacheControl, valueNoStore)
	sc.add(nameOptions, valueNoSniff)
	sc.add(nameRequestID, sc.requestID(r))
	if t.onV2 || t.endpoint == nil { // Without CORS fields a page could not read the 404 of a misspelt path.
		sc.Fields = c.cors.Append(sc.Fields, op == OpPreflight, r.Origin, r.RequestHeaders)
	}
	sc.op, sc.code = op, code
}

// requestID returns the caller's request id if it is valid, or else a new UUIDv7.
func (sc *Scratch) requestID(r *Request) []byte {
	if validRequestID(r.RequestID) {
		return r.RequestID
	}
	var entropy [10]byte
	a, b := sc.random.Uint64(), sc.random.Uint64()
	for i := range 8 {
		entropy[i] = byte(a >> (8 * i))
	}
	entropy[8] = byte(b >> 8)
	id := ids.Mint(r.Now.UnixMilli(), entropy, ids.Shard(b)) // Any byte is as good.
	sc.minted = id.AppendText(sc.minted[:0])
	return sc.minted
}

// RequestID returns the id of a request that the core does not serve: the one that was sent if it is valid, else a new UUIDv7.
func RequestID(sent string, now time.Time) string {
	if validRequestID([]byte(sent)) {
		return sent
	}
	var entropy [11]byte
	_, _ = rand.Read(entropy[:]) // crypto/rand never returns an error.
	return ids.Mint(now.UnixMilli(), [10]byte(entropy[:10]), ids.Shard(entropy[10])).String()
}

const requestIDMax = 64 // BOUND: set by the interface, in bytes.

func validRequestID(id []byte) bool {
	if len(id) == 0 || len(id) > requestIDMax {
		return false
	}
	for _, c := range id {
		if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
