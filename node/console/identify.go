package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/store"
)

// The headers with which a request chooses among the marketplaces and vendors of its user.
const (
	MarketplaceHeader = "X-Gavel-Marketplace"
	VendorHeader      = "X-Gavel-Vendor"
)

// Identity is who sent a request with a login session, and the right that it uses.
type Identity struct {
	store.Login
	Access store.ConsoleAccess
}

// currentTimeout bounds the wait of a request whose session this node does not know, until the node has what other nodes answered.
const currentTimeout = 2 * time.Second

// Identify returns who sent a request. The code is CrossOrigin for a change that a page of another origin requested, NotSignedIn
// without an open session, ForbiddenRole when the user has no access to the marketplace or vendor that the request names, and
// ServiceUnavailable while this node cannot know which sessions have ended. With a code but OK the Login may be set.
func (s *Service) Identify(r *http.Request) (Identity, apierr.Code) {
	who, code := s.observe(r)
	if code != apierr.OK && code != apierr.ForbiddenRole {
		return who, code
	}
	if who.NeedsTouch(s.deps.Now()) {
		select {
		case s.touches <- who.Key:
		default: // The next request records its time.
		}
	}
	return who, code
}

// observe is Identify without the effect that the session stays open for longer.
func (s *Service) observe(r *http.Request) (Identity, apierr.Code) {
	l, code := s.login(r)
	if code != apierr.OK {
		return Identity{}, code
	}
	access, code := s.choose(r, l.User.Access)
	return Identity{l, access}, code
}

// login returns the open login session of a request.
func (s *Service) login(r *http.Request) (store.Login, apierr.Code) {
	if s.origins.Check(r) != nil {
		return store.Login{}, apierr.CrossOrigin
	}
	now := s.deps.Now()
	if s.deps.Current != nil && !s.deps.Current(now) {
		return store.Login{}, apierr.ServiceUnavailable
	}
	key, ok := s.cookieKey(r)
	if !ok {
		return store.Login{}, apierr.NotSignedIn
	}
	l, err := s.deps.Store.People().Login(key)
	if errors.Is(err, store.ErrNotFound) {
		// The session may be so new that this node has not applied it yet.
		ctx, cancel := context.WithTimeout(r.Context(), currentTimeout)
		defer cancel()
		l, err = s.people(ctx).Login(key)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Login{}, apierr.NotSignedIn
	case err != nil:
		return store.Login{}, apierr.ServiceUnavailable
	}
	return l, apierr.OK
}

// choose returns the access that a request uses: the one for the named marketplace and vendor, else the first.
func (s *Service) choose(r *http.Request, all []store.ConsoleAccess) (store.ConsoleAccess, apierr.Code) {
	marketplace, vendor := r.Header.Get(MarketplaceHeader), r.Header.Get(VendorHeader)
	if marketplace == "" && r.URL.Path == livePath { // An EventSource cannot set headers.
		marketplace = r.URL.Query().Get("marketplace")
	}
	for _, a := range all {
		m := s.marketplace(a.Marketplace)
		if m == nil || marketplace != "" && m.ID.String() != marketplace {
			continue
		}
		if vendor == "" || !a.Role.OfVendor() || a.Vendor == vendor {
			return a, apierr.OK
		}
	}
	return store.ConsoleAccess{}, apierr.ForbiddenRole
}

// The names of the cookie. A browser accepts the first only with Secure, without Domain and for the path /, so no other host and no
// plain connection can set it. Without TLS there is no such protection.
const (
	cookieTLS   = "__Host-gavel_session"
	cookiePlain = "gavel_session"
)

// secure reports whether browsers reach the console over TLS.
func (s *Service) secure() bool { return strings.HasPrefix(s.config.PublicURL, "https://") }

func (s *Service) cookie(value string, maxAge int) *http.Cookie {
	return s.cookieNamed(cookiePlain, cookieTLS, value, maxAge)
}

// cookieNamed returns a cookie that has the first name without TLS and the second with it.
func (s *Service) cookieNamed(plain, overTLS, value string, maxAge int) *http.Cookie {
	c := &http.Cookie{Name: plain, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if s.secure() {
		c.Name, c.Secure = overTLS, true
	}
	return c
}

// Secret returns the secret of the session that a request presents; empty without one. A request with two cookies of the name
// presents none, because somebody else has set one of them.
func (s *Service) Secret(r *http.Request) string {
	if sent := r.CookiesNamed(s.cookie("", 0).Name); len(sent) == 1 {
		return sent[0].Value
	}
	return ""
}

// cookieKey returns the key of the session that a request presents.
func (s *Service) cookieKey(r *http.Request) (store.LoginKey, bool) {
	key, ok := login.KeyOf(s.Secret(r))
	return key, ok
}
