package daemon

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/node/manage/campaign"
	"github.com/gavel-ads/gavel/node/serving"
)

// startupCORS says which origins may read the answers of the start-up server. The rules are those of the node that serves
// later, found from the text of the path, because there are no routes yet.
type startupCORS struct {
	pages      *serving.CORS // For /v2, the health checks and paths that do not exist.
	dialog     *serving.CORS // For the vendors' dialog.
	management *serving.CORS // For the rest of the management API; nil means no origin.
}

// newStartupCORS returns the rules for the origins of cors.origins and of management.cors_origins.
func newStartupCORS(pages, management []string) startupCORS {
	c := startupCORS{pages: serving.NewCORS(pages, serving.ReadableHeaders)}
	c.dialog = c.pages
	if len(pages) > 0 {
		c.dialog = serving.NewCORS(slices.Concat(pages, management), serving.ReadableHeaders)
	}
	if len(management) > 0 {
		c.management = serving.NewCORS(management, serving.ReadableHeaders)
	}
	return c
}

// set sets the header fields for browsers. It reports whether browsers may call the path at all.
func (c *startupCORS) set(h http.Header, r *http.Request) bool {
	raw, _ := serving.SplitTarget([]byte(r.RequestURI))
	clean, _ := serving.AppendCleanPath(nil, raw)
	path, err := url.PathUnescape(string(clean))
	rules := c.pages
	switch {
	case err == nil && strings.HasPrefix(path, campaign.DialogBase):
		rules = c.dialog
	case err != nil, strings.HasPrefix(path, "/public/v1/"):
		rules = c.management
	}
	if rules == nil {
		return false
	}
	asked, origin := []byte(r.Header.Get("Access-Control-Request-Headers")), []byte(r.Header.Get("Origin"))
	for _, f := range rules.Append(nil, r.Method == http.MethodOptions, origin, asked) {
		h.Set(string(f.Name), string(f.Value))
	}
	return true
}
