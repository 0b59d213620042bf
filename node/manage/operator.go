package manage

import (
	"net/http"

	"github.com/gavel-ads/gavel/node/apierr"
)

// operatorMarketplace is the one that the cluster was founded with: whoever has its management keys runs the cluster. The
// other marketplaces are tenants.
const operatorMarketplace = 1

// operator lets the keys of the first marketplace through, within their rate limit.
func (s *Server) operator(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, code := s.admit(w.Header(), r)
		if code == apierr.OK && caller.Marketplace != operatorMarketplace {
			code = apierr.ForbiddenAPIKey
		}
		if code != apierr.OK {
			s.refuse(w, code, "")
			return
		}
		h.ServeHTTP(w, r)
	})
}
