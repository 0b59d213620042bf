package manage

import (
	"context"
	"errors"
	"net/http"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// TokenHeader carries a token of what a write changed, opaque to clients. A read that sends it back, to whatever node, sees the write.
const TokenHeader = "X-Gavel-Token" //nolint:gosec // the name of a header.

// Consistency says how new the state has to be that a request reads.
type Consistency struct {
	// Local reads this node's state. Otherwise reads see everything that any node answered before.
	Local bool
	Token string // The token of an earlier answer, whose write has to be visible; empty for none.
}

// ErrToken is returned by Deps.Open, wrapped or not, for a text that is not a token of this cluster.
var ErrToken = errors.New("not a token")

type tokenKey struct{}

// open begins the session of an authorized request. Only GET and HEAD may ask for local reads.
func (s *Server) open(r *http.Request, v authorized) (context.Context, apierr.Code, string) {
	caller := resource.Caller{Marketplace: v.Marketplace, Vendor: v.vendor, Background: s.deps.Background}
	if v.user == nil {
		caller.KeyID = v.ID.String()
	} else {
		caller.UserID, caller.UserEmail = v.user.ID.String(), v.user.Email
	}
	if s.deps.Open == nil {
		caller.Tenant = s.deps.Tenant(v.Marketplace)
		return resource.WithCaller(r.Context(), caller), apierr.OK, ""
	}
	reads := Consistency{Token: r.Header.Get(TokenHeader)}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		reads.Local = r.URL.Query().Get(resource.ConsistencyParam) == resource.Local
	}
	tenant, token, err := s.deps.Open(r.Context(), v.Marketplace, reads)
	switch {
	case errors.Is(err, ErrToken):
		return nil, apierr.BadRequest, TokenHeader + " is not a token of this cluster"
	case r.Context().Err() != nil:
		return nil, apierr.RequestCanceled, ""
	case err != nil:
		return nil, apierr.ServiceUnavailable, ""
	}
	caller.Tenant = tenant
	ctx := context.WithValue(r.Context(), tokenKey{}, token)
	return resource.WithCaller(ctx, caller), apierr.OK, ""
}

// currentTenant is the store of an upload, which comes without a key and without a consistency token.
func (s *Server) currentTenant(ctx context.Context, marketplace uint16) (store.Tenant, error) {
	if s.deps.Open == nil {
		return s.deps.Tenant(marketplace), nil
	}
	t, _, err := s.deps.Open(ctx, marketplace, Consistency{})
	return t, err
}

// serve runs the operation and adds the token of what it wrote to the answer.
func (s *Server) serve(a *bufferedResponse, r *http.Request) {
	// From here on the request takes turns with others, so that auctions find a free CPU.
	turn := limits.TurnOf(r.Context())
	if turn.Take(r.Context()) != nil {
		s.refuse(a, apierr.RequestCanceled, "")
		return
	}
	defer turn.Give()
	s.serveChange(a, r)
	if token, ok := r.Context().Value(tokenKey{}).(func() string); ok {
		if text := token(); text != "" {
			a.Header().Set(TokenHeader, text)
		}
	}
}
