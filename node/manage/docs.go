package manage

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gavel-ads/gavel/node/apierr"
)

// The pages load nothing from outside this binary, because they must work on a machine without internet.
//
//go:embed docs
var pages embed.FS

// contentPolicy lets pages load only what this listener serves. Nothing on them is inline.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (s *Server) mountDocs() error {
	for _, page := range []struct{ pattern, kind, file string }{
		{"GET /docs/style.css", "text/css; charset=utf-8", "style.css"},
		{"GET /docs/reference.js", "text/javascript; charset=utf-8", "reference.js"},
		{"GET /docs", "text/html; charset=utf-8", "reference.html"},
	} {
		body, err := pages.ReadFile("docs/" + page.file)
		if err != nil {
			return fmt.Errorf("embedded page: %w", err)
		}
		s.routes.Handle(page.pattern, static(page.kind, body))
	}
	type rendered struct {
		pattern, file string
		data          any
	}
	all := []rendered{{"GET /docs/errors", "errors.html", errorGroups()}}
	if s.config.Runbook != "" {
		all = append(all, rendered{"GET /docs/runbook", "runbook.html", s.config.Runbook})
	}
	if len(s.config.Guides) > 0 {
		guides := guidePages(s.config.Guides)
		all = append(all, rendered{"GET /docs/guides", "guides.html", guides})
		for _, g := range guides {
			all = append(all, rendered{"GET /docs/guides/" + g.Name, "guide.html", g})
		}
	}
	for _, page := range all {
		body, err := render(page.file, page.data)
		if err != nil {
			return err
		}
		s.routes.Handle(page.pattern, static("text/html; charset=utf-8", body))
	}
	return nil
}

// render executes a page's template once, when the server is built; its content never changes.
func render(name string, data any) ([]byte, error) {
	t, err := template.ParseFS(pages, "docs/"+name)
	if err != nil {
		return nil, fmt.Errorf("embedded page: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("embedded page: %w", err)
	}
	return []byte(b.String()), nil
}

// errorGroup is one status on the page of errors. The docUrl of every error leads to the anchor of its code, the API
// reference to the anchor of a status.
type errorGroup struct {
	Status int
	Text   string
	Rows   []errorRow
}

// errorRow is one errCode with a status. One of them has two statuses: its anchor is at the first.
type errorRow struct {
	ErrCode, Message string
	Anchor           bool
}

// errorGroups lists every errCode by status. A 422 has no code; its detail describes the violations.
func errorGroups() []errorGroup {
	byStatus := map[int][]errorRow{http.StatusUnprocessableEntity: nil}
	seen := map[string]bool{}
	for c := 1; c < apierr.Codes; c++ {
		code := apierr.Code(c) // Fewer than 256.
		name := code.String()
		byStatus[code.Status()] = append(byStatus[code.Status()], errorRow{name, code.Message(), !seen[name]})
		seen[name] = true
	}
	var all []errorGroup
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		all = append(all, errorGroup{status, cmp.Or(http.StatusText(status), "Client Closed Request"), byStatus[status]})
	}
	return all
}

// static serves bytes that never change.
func static(contentType string, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // The client may have disconnected.
	})
}
