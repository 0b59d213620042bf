package manage

import (
	"net/http"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/store"
)

// operator allows requests with a key of the first marketplace, within its rate limit.
func (s *Server) operator(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, code := s.authorize(w.Header(), r)
		if code == apierr.OK && caller.Marketplace != store.OperatorMarketplace {
			code = apierr.ForbiddenAPIKey
		}
		if code != apierr.OK {
			s.rejectBody(w, r)
			s.refuse(w, code, "")
			return
		}
		authenticated(r)
		h.ServeHTTP(w, r)
	})
}
