package manage

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"
)

// bufferedResponse is a ResponseWriter that keeps the whole response in memory.
type bufferedResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newBufferedResponse() *bufferedResponse { return &bufferedResponse{header: http.Header{}} }

// Header is the header of the answer.
func (a *bufferedResponse) Header() http.Header { return a.header }

// WriteHeader keeps the first status, as net/http does.
func (a *bufferedResponse) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write appends to the body.
func (a *bufferedResponse) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// writeTo sends the response.
func (a *bufferedResponse) writeTo(w http.ResponseWriter) {
	a.WriteHeader(http.StatusOK)
	maps.Copy(w.Header(), a.header)
	if a.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // The client may have disconnected; net/http drops the body of a response to HEAD.
}

// statusWriter records the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
	bytes  int // Of the body.
}

// Write counts what it passes on.
func (w *statusWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.bytes += n
	return n, err
}

// WriteHeader records the first status and passes it on.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController access to the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
