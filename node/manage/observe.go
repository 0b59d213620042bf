package manage

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// serveChange serves a change and records who made it, the resource before it and the answer. Reads, refusals and repeats leave no
// entry.
//
// The entry is in the request's context: the store writes it with the first thing that the request changes (store.AuditRequest), for
// all operations alike, and with the status of success, because only a change that is made stores it. The body of the answer is added
// to it afterwards.
func (s *Server) serveChange(a *bufferedResponse, r *http.Request) {
	rt := s.routes.of(r)
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		rt.serve(a, r)
		return
	}
	var before []byte
	if rt.item && r.Method != http.MethodPost {
		before = s.readCurrent(r)
	}
	caller := resource.CallerOf(r.Context())
	record := store.NewAuditRequest(caller.Marketplace, store.AuditEntry{
		Millis: s.deps.Now().UnixMilli(), KeyID: caller.KeyID, UserID: caller.UserID, UserEmail: caller.UserEmail,
		Operation: rt.operation, Method: r.Method, Path: auditedPath(rt, r), Status: rt.success,
		RequestID: r.Header.Get(requestIDHeader), Before: redact(before),
	})
	s.serveAudited(a, r.WithContext(store.WithAudit(r.Context(), record)), record)
}

// auditedPath returns the path and query of a request as the log has them: not those that name a person, which the log would
// keep for 30 days after an erasure.
func auditedPath(rt *route, r *http.Request) string {
	if rt.personal {
		return rt.path
	}
	return r.URL.RequestURI()
}

// serveAudited serves a change and passes on its audit entry with the answer. It does so also when the handler panics: then the
// client gets a 500.
func (s *Server) serveAudited(a *bufferedResponse, r *http.Request, record *store.AuditRequest) {
	returned := false
	defer func() {
		status, after := a.status, redact(a.body.Bytes())
		if !returned {
			record.MarkUnknown()
			status, after = http.StatusInternalServerError, nil
		}
		if entry, write := record.End(status, after); write && s.deps.Audit != nil {
			s.deps.Audit(resource.CallerOf(r.Context()).Marketplace, entry)
		}
	}()
	s.routes.of(r).serve(a, r)
	returned = true
}

// readCurrent reads the resource that a request is about to change, by the operation that reads it. It returns nil where there is none.
func (s *Server) readCurrent(r *http.Request) []byte {
	reads := s.routes.byPattern[http.MethodGet+" "+s.routes.of(r).path]
	if reads == nil {
		return nil
	}
	read := r.Clone(r.Context()) // It includes the path values, whose names are the same in both templates.
	read.Method, read.Pattern, read.Body, read.ContentLength = http.MethodGet, reads.pattern, http.NoBody, 0
	buffer := newBufferedResponse()
	reads.serve(buffer, read)
	if buffer.status != http.StatusOK {
		return nil
	}
	return buffer.body.Bytes()
}

// secrets are members that the log must not contain, because more people may read it than may use them.
var secrets = []string{"key", "auctionKey", "managementKey", "authToken", "secret", "fields", "uploadUrl", "acceptUrl", "previewUrl"}

// redact returns a body as the log stores it: without secrets, and only its size when it is large.
func redact(body []byte) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	if len(body) <= store.AuditPartMax {
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil {
			text, err := json.Marshal(redactValue(v))
			if err == nil && len(text) <= store.AuditPartMax {
				return text
			}
		}
	}
	return store.AuditOmitted(len(body))
}

func redactValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			text, isText := v[name].(string)
			if slices.Contains(secrets, name) || isText && strings.Contains(text, "signature=") {
				v[name] = "(redacted)"
				continue
			}
			v[name] = redactValue(v[name])
		}
	case []any:
		for i := range v {
			v[i] = redactValue(v[i])
		}
	}
	return v
}
