package serving

import "time"

// The interface's limits of bodies on /v2, where Deps leaves them open.
const (
	// BodyMax bounds the body of an auction request, the largest there is.
	BodyMax = 4 << 20 // BOUND: 50,000 product ids fit.
	// eventsBodyMax bounds the body of an event report.
	eventsBodyMax = 1 << 20 // BOUND: 200 events fit many times over.
)

// Request is what a door knows of a request. All slices belong to the door.
type Request struct {
	// Now is when the request began, read once by the door. It is the time of its auctions and events, and what its
	// duration is measured from.
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
	Overloaded   bool // The body was not read to its end, because the budget of bytes under way did not allow it.

	// UnknownPath is this door's text for a path that nobody serves; empty for the general one.
	UnknownPath string
}

// Field is one header field of an answer.
type Field struct{ Name, Value []byte }
