package manage

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/gavel-ads/gavel/node/apierr"
)

// BodyMax is the most bytes of a JSON body, counted after decompression. BOUND: of the interface.
const BodyMax = 8 << 20

// drainMax is how much of a body that nobody wants is read and thrown away. BOUND: closing a connection with unread bytes
// resets it, and the client may lose the answer that says why; a request larger than this is not worth the courtesy.
const drainMax = 16 << 20

// drain reads what is left of a body. A client that waits for 100 Continue has sent nothing if it was not told to.
func drain(r *http.Request) {
	if r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, drainMax) // Whatever it was.
	}
}

// readBody reads the body of a request whole. Operations that take none ignore it.
func (s *Server) readBody(r *http.Request) (body []byte, code apierr.Code, message string) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.ContentLength == 0 {
		return nil, apierr.OK, ""
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return nil, apierr.UnsupportedMediaType, "Content-Type must be application/json"
	}
	reader, zipped := io.Reader(r.Body), false
	switch encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		if r.ContentLength > s.config.ManagementBody {
			return nil, apierr.PayloadTooLarge, ""
		}
	case "gzip":
		unzip, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, apierr.BadRequest, "the body is not gzip"
		}
		reader, zipped = unzip, true
	default:
		return nil, apierr.UnsupportedMediaType, "Content-Encoding must be identity or gzip"
	}
	body, err := io.ReadAll(io.LimitReader(reader, s.config.ManagementBody+1))
	switch {
	case int64(len(body)) > s.config.ManagementBody:
		return nil, apierr.PayloadTooLarge, ""
	case err != nil && zipped: // A cut connection looks the same, but then nobody reads the answer.
		return nil, apierr.BadRequest, "the body is not gzip"
	case err != nil && !isGone(err):
		return nil, apierr.BadRequest, notHTTP // Chunks that are none.
	case err != nil:
		return nil, apierr.RequestCanceled, "the body ended early"
	}
	return body, apierr.OK, ""
}

// isJSON accepts application/json and application/*+json with any parameters, and no content type at all.
func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "" || kind == "application/json" ||
		strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}
