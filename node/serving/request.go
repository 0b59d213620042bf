package serving

import "time"

// These are the interface's limits of bodies on /v2. They apply where Deps does not set others.
const (
	// BodyMax bounds the body of an auction request, the largest of all, in bytes.
	BodyMax = 4 << 20 // BOUND: 50,000 product ids fit.
	// eventsBodyMax bounds the body of an events request, in bytes.
	eventsBodyMax = 1 << 20 // BOUND: 200 events fit many times over.
)

// Request is an HTTP request as a listener passes it to the core. OWNERSHIP: all slices belong to the listener.
type Request struct {
	// Now is the time at which the request began, read once by the listener. It is the time of the request's auctions and
	// events, and its duration is measured from it.
	Now    time.Time
	Method []byte
	// Target is the request target as it was sent: path and query, or an absolute URI whose host is ignored.
	Target []byte

	// Header values; nil when absent.
	Authorization   []byte
	RequestID       []byte // X-Request-Id
	ContentEncoding []byte
	Origin          []byte
	RequestHeaders  []byte // Access-Control-Request-Headers

	Body         []byte
	BodyTooLarge bool // The body is over Core.BodyMax and was not read to its end.
	Overloaded   bool // The body was not read to its end, because the budget of bytes in transit was used up.

	// UnknownPath is the listener's message for a path that has no endpoint; empty for the general message.
	UnknownPath string
}

// Field is one header field of an answer.
type Field struct{ Name, Value []byte }
