package manage

import (
	"net/http"
	"strings"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
)

const catalogPaths = "/public/v1/catalog-search-service/"

// admit judges the key and the rate limit of a request, in this order, and sets the rate limit headers. A request
// without a good key counts against its address, so that guessing is slowed down whatever it guesses.
func (s *Server) admit(h http.Header, r *http.Request) (auth.Verdict, apierr.Code) {
	now := s.deps.Now()
	client := clientKey{address: s.proxies.client(r)}
	var memo auth.Memo
	v := s.deps.Keys.Check([]byte(r.Header.Get("Authorization")), auth.Management, now.UnixMilli(), &memo)
	if v.Code != apierr.OK {
		if !s.limits.take(client, s.managementRate(), now).headers(h) {
			return v, apierr.TooManyRequests
		}
		return v, v.Code
	}
	client.key, client.catalog = v.ID, strings.HasPrefix(r.URL.Path, catalogPaths)
	m := s.deps.Tenant(v.Marketplace).Settings()
	open := m.Ordinal != 0 && !m.Suspended
	rate := s.managementRate()
	if client.catalog {
		rate = s.catalogRate()
	}
	within := s.limits.take(client, rate, now).headers(h)
	switch {
	case !open:
		return v, apierr.InvalidMarketplace
	case !within:
		return v, apierr.TooManyRequests
	}
	return v, apierr.OK
}
