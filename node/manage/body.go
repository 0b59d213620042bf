package manage

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
)

// BodyMax is the most bytes of a JSON body, counted after decompression. BOUND: the interface's.
const BodyMax = 8 << 20

// bodyWeight is how many bytes of the budget one byte of a body takes. BOUND: parsed values take three times the body in addition.
const bodyWeight = 4

// drainMax is how many bytes of an unwanted body are read and discarded. BOUND: closing a connection with unread bytes resets it, and
// the client may lose the answer that says why. Larger requests are reset.
const drainMax = 16 << 20

// drain reads and discards the rest of a body, so that the connection can be used again. If the answer closes the connection, drain
// sends the answer first and reads on only so that a client that writes everything before it reads gets it. The deadline that
// rejectBody has set bounds that, and the connection no longer counts meanwhile. A client that waits for 100 Continue has sent nothing
// if it did not get it.
func drain(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return
	}
	if w.Header().Get("Connection") == "close" {
		of := connOf(r)
		if of == nil || http.NewResponseController(w).Flush() != nil {
			return // The client has disconnected.
		}
		of.End()
	}
	_, _ = io.CopyN(io.Discard, r.Body, drainMax) // The content does not matter.
}

// readBody reads the whole body of a request. Methods without a body get nil. The lease grows with the body.
func (s *Server) readBody(r *http.Request, lease *limits.Lease) (body []byte, code apierr.Code, message string) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.ContentLength == 0 {
		return nil, apierr.OK, ""
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return nil, apierr.UnsupportedMediaType, "Content-Type must be application/json"
	}
	zipped := false
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ", "))); encoding {
	case "", "identity":
		if r.ContentLength > s.config.ManagementBody {
			return nil, apierr.PayloadTooLarge, ""
		}
	case "gzip":
		zipped = true
	default:
		return nil, apierr.UnsupportedMediaType, "Content-Encoding must be identity or gzip"
	}
	body, err := limits.AppendBody(nil, r.Body, int(s.config.ManagementBody), lease, bodyWeight)
	if err == nil && zipped {
		return s.unzip(r, body, lease)
	}
	switch {
	case errors.Is(err, limits.ErrTooLarge):
		return nil, apierr.PayloadTooLarge, ""
	case errors.Is(err, limits.ErrBudget):
		return nil, apierr.ServiceUnavailable, overloaded
	case err != nil && !isGone(err):
		return nil, apierr.BadRequest, notHTTP // Malformed chunks.
	case err != nil:
		return nil, apierr.RequestCanceled, "the body ended early"
	}
	return body, apierr.OK, ""
}

// unzip decompresses a body that has arrived whole. It waits for its turn, because eight megabytes take about 50 ms of a CPU.
func (s *Server) unzip(r *http.Request, zipped []byte, lease *limits.Lease) (body []byte, code apierr.Code, message string) {
	turn := limits.TurnOf(r.Context())
	if turn.Take(r.Context()) != nil {
		return nil, apierr.RequestCanceled, ""
	}
	defer turn.Give()
	if !lease.Grow(gzipMemory) {
		return nil, apierr.ServiceUnavailable, overloaded
	}
	from, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, apierr.BadRequest, notGzip
	}
	body, err = limits.AppendBody(nil, from, int(s.config.ManagementBody), lease, bodyWeight)
	switch {
	case errors.Is(err, limits.ErrTooLarge):
		return nil, apierr.PayloadTooLarge, ""
	case errors.Is(err, limits.ErrBudget):
		return nil, apierr.ServiceUnavailable, overloaded
	case err != nil:
		return nil, apierr.BadRequest, notGzip
	}
	return body, apierr.OK, ""
}

const notGzip = "the body is not gzip"

// gzipMemory is the memory in bytes that a decompressor takes.
const gzipMemory = 48 << 10

const overloaded = "too many bytes of request bodies are under way"

// isJSON accepts application/json and application/*+json with any parameters, and no content type at all.
func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "" || kind == "application/json" ||
		strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}
