package manage

import (
	"net/http"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/store"
)

// authorized is who sent a request, and whether it may go on.
type authorized struct {
	auth.Result
	// vendor is the vendor of a dialog's token, whose ID is then the key that requested the token, or that of a user with a vendor
	// role; empty for a key.
	vendor string
	user   *store.ConsoleUser // Who is signed in; nil for a key or a token.
}

// authorize checks the key and the rate limit of a request, in this order, and sets the rate limit headers. A request without a
// valid key counts against its address, so that guessing is slowed down whatever is guessed.
func (s *Server) authorize(h http.Header, r *http.Request) (authorized, apierr.Code) {
	if s.routes.of(r).session != nil {
		return s.authorizeSession(h, r)
	}
	now := s.deps.Now()
	client := clientKey{address: s.proxies.client(r)}
	who := s.identify(r, now)
	if who.ID == (auth.ID{}) {
		if !s.limits.count(client, s.managementRate(), now).headers(h) {
			return who, apierr.TooManyRequests
		}
		return who, who.Code
	}
	client.key, client.catalog = who.ID, s.routes.of(r).catalog
	m := s.deps.Tenant(who.Marketplace).Settings()
	open := m.Ordinal != 0 && !m.Suspended
	rate := s.managementRate()
	if client.catalog {
		rate = s.catalogRate()
	}
	within := s.limits.count(client, rate, now).headers(h)
	switch {
	case !open:
		return who, apierr.InvalidMarketplace
	case !within:
		return who, apierr.TooManyRequests
	}
	return who, who.Code
}

// identify finds out who sent a request. The code is not OK for a known caller with the wrong credential for the matched route: a
// management key for the vendors' dialog, a token of the dialog for anything else or for another vendor, the key of a tenant for an
// operation of the operator.
func (s *Server) identify(r *http.Request, now time.Time) authorized {
	var memo auth.Memo
	text, rt := r.Header.Get("Authorization"), s.routes.of(r)
	v := s.deps.Keys.Check([]byte(text), auth.Management, now, &memo)
	v.Count()
	switch {
	case v.Code == apierr.OK && !rt.takesKey(v.Marketplace):
		v.Code = apierr.ForbiddenAPIKey
		return authorized{Result: v}
	case v.Code != apierr.InvalidAPIKey:
		return authorized{Result: v}
	}
	t, good := s.deps.Keys.CheckVendorToken(s.deps.Tenant(store.OperatorMarketplace).CursorKey, text, now)
	if !good {
		return authorized{Result: v}
	}
	who := authorized{Result: auth.Result{Marketplace: t.Marketplace, ID: t.Key}, vendor: t.Vendor}
	if !rt.takesToken(t.Vendor, r) {
		who.Code = apierr.ForbiddenAPIKey
	}
	return who
}
