package manage

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"
)

// answer gathers what a handler answers.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: http.Header{}} }

// Header is the header of the answer.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the first status, as a real answer does.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write keeps the body.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// writeTo sends the answer.
func (a *answer) writeTo(w http.ResponseWriter) {
	a.WriteHeader(http.StatusOK)
	maps.Copy(w.Header(), a.header)
	if a.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // The caller may be gone; net/http drops the body of an answer to HEAD.
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader remembers the first status and passes it on.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController the connection behind.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
