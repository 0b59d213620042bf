package manage

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/operator"
	"github.com/gavel-ads/gavel/node/store"
)

// The console calls the operations of /public/v1 and of the operator through a second route of each, which takes a login session and a
// role in place of a key. A cookie therefore opens no public path, and a key no path of the console.

// mountConsole adds the console's own routes and the second route of every operation. It returns an error for an operation for which
// no rule says which roles may call it. REQUIRES: all other routes are complete.
func (s *Server) mountConsole() error {
	for pattern, serve := range s.deps.Console.Routes(console.Listener{Client: s.proxies.client, Refuse: s.refuse}) {
		s.routes.HandleFunc(pattern, serve)
	}
	rules := console.Rules()
	for _, rt := range s.routes.all() {
		second := *rt
		switch {
		case rt.credential == resource.OperatorKey && strings.HasPrefix(rt.path, operator.ProfileBase):
			continue // Profiles are for tools, which have keys.
		case rt.credential == resource.OperatorKey && !rt.api:
			second.path = console.ClusterBase + strings.TrimPrefix(rt.path, operator.Base)
			second.serve = s.operatorSession(s.deps.Operator)
			second.session = &console.OperatorRule
		case rt.api:
			second.path = console.V1Base + strings.TrimPrefix(rt.path, publicV1)
			if second.session = s.ruleOf(rules, rt); second.session == nil {
				return fmt.Errorf("%s: node/console has no rule that says which roles may call %s", rt.pattern, rt.operation)
			}
		default:
			continue
		}
		second.pattern, second.dialog = second.method+" "+second.path, false
		s.routes.add(&second)
	}
	return nil
}

// ruleOf returns the rule for a route, nil without one. The campaigns of agencies are served under several names, each with operations
// of its own, for which the rules of the name agency hold.
func (s *Server) ruleOf(rules map[string]*console.Rule, rt *route) *console.Rule {
	if own := rules[rt.operation]; own != nil {
		return own
	}
	_, rest, _ := strings.Cut(strings.TrimPrefix(rt.path, publicV1), "/")
	if agency := s.routes.byPattern[rt.method+" "+publicV1+"agency/"+rest]; agency != nil {
		return rules[agency.operation]
	}
	return nil
}

// authorizeSession is authorize for a route that takes login sessions.
func (s *Server) authorizeSession(h http.Header, r *http.Request) (authorized, apierr.Code) {
	now, rt := s.deps.Now(), s.routes.of(r)
	client := clientKey{address: s.proxies.client(r)}
	who, code := s.deps.Console.Identify(r)
	if rt.credential == resource.OperatorKey && code == apierr.OK && who.User.IsAdmin() {
		who.Access = console.AdminAccess // Whatever marketplace the page shows: a cluster has one operator.
	}
	known := code == apierr.OK || code == apierr.ForbiddenRole
	if known {
		client.key, client.catalog = auth.ID(who.Key[:len(auth.ID{})]), rt.catalog
	}
	rate := s.managementRate()
	if client.catalog {
		rate = s.catalogRate()
	}
	within := s.limits.count(client, rate, now).headers(h)
	m := s.deps.Tenant(who.Access.Marketplace).Settings()
	switch {
	case !within:
		return authorized{}, apierr.TooManyRequests
	case code != apierr.OK:
		return authorized{}, code
	case m.Ordinal == 0 || m.Suspended:
		return authorized{}, apierr.InvalidMarketplace
	case !rt.takesSession(who.Access, r):
		return authorized{}, apierr.ForbiddenRole
	}
	return authorized{Result: auth.Result{Marketplace: who.Access.Marketplace}, vendor: who.Access.Vendor, user: &who.User}, apierr.OK
}

// takesSession reports whether a user with a right may call the route as r does. It binds the request of a vendor role to the vendor.
func (rt *route) takesSession(a store.ConsoleAccess, r *http.Request) bool {
	switch {
	case !rt.session.Allows(a.Role), rt.credential == resource.OperatorKey && a.Marketplace != store.OperatorMarketplace:
		return false
	case !a.Role.OfVendor():
		return true
	case !namesInQuery(r, a.Vendor):
		return false
	}
	switch rt.session.Vendor {
	case console.VendorInPath:
		return r.PathValue("vendor_id") == a.Vendor
	case console.VendorIsItem:
		return r.PathValue("id") == a.Vendor
	case console.VendorInQuery:
		bindQuery(r, a.Vendor)
	case console.VendorInToken:
		return rt.takesToken(a.Vendor, r)
	case console.NoVendor:
	}
	return true
}

// bindQuery makes vendor_id the only name of a vendor in the query, which namesInQuery has checked.
func bindQuery(r *http.Request, vendor string) {
	query := r.URL.Query()
	for name := range query {
		if isVendorName(name) {
			delete(query, name)
		}
	}
	query.Set("vendor_id", vendor)
	r.URL.RawQuery = query.Encode()
}

// operatorSession serves the operator's operations to the session of an admin of the first marketplace.
func (s *Server) operatorSession(h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, code := s.authorizeSession(w.Header(), r); code != apierr.OK {
			s.rejectBody(w, r)
			s.refuse(w, code, "")
			return
		}
		authenticated(r)
		own := r.Clone(r.Context())
		own.URL = &url.URL{Path: operator.Base + strings.TrimPrefix(r.URL.Path, console.ClusterBase), RawQuery: r.URL.RawQuery}
		h.ServeHTTP(w, own)
	}
}
