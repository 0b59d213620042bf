package manage

import (
	"context"
	"errors"
	"net/http"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/background"
	"github.com/gavel-ads/gavel/node/manage/resource"
)

// TokenHeader carries what a write left behind, opaque to clients: a read that sends it back, to whatever node, sees the
// write.
const TokenHeader = "X-Gavel-Token" //nolint:gosec // the name of a header.

// Reads says how new what a request reads has to be.
type Reads struct {
	// Local is content with what this node has. Otherwise reads see everything that was answered before, on whatever node.
	Local bool
	Token string // Of an earlier answer: what it stands for has to be there. Empty: none.
}

// ErrToken is what Deps.Open returns, wrapped or not, for a token that is none.
var ErrToken = errors.New("not a token")

type tokenKey struct{}

// open begins the session of an admitted request. Only reads may be content with less than everything.
func (s *Server) open(r *http.Request, v admitted) (context.Context, apierr.Code, string) {
	caller := resource.Caller{Marketplace: v.Marketplace, KeyID: v.ID.String(), Vendor: v.vendor, Background: s.deps.Background}
	if s.deps.Open == nil {
		caller.Tenant = s.deps.Tenant(v.Marketplace)
		return resource.WithCaller(r.Context(), caller), apierr.OK, ""
	}
	reads := Reads{Token: r.Header.Get(TokenHeader)}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		reads.Local = r.URL.Query().Get(resource.ConsistencyParam) == resource.Local
	}
	tenant, token, err := s.deps.Open(r.Context(), v.Marketplace, reads)
	switch {
	case errors.Is(err, ErrToken):
		return nil, apierr.BadRequest, TokenHeader + " is not what an answer of this cluster gave"
	case r.Context().Err() != nil:
		return nil, apierr.RequestCanceled, ""
	case err != nil:
		return nil, apierr.ServiceUnavailable, ""
	}
	caller.Tenant = tenant
	ctx := context.WithValue(r.Context(), tokenKey{}, token)
	return resource.WithCaller(ctx, caller), apierr.OK, ""
}

// fresh is the store of an upload, which comes without a key and without a token.
func (s *Server) fresh(ctx context.Context, marketplace uint16) (Tenant, error) {
	if s.deps.Open == nil {
		return s.deps.Tenant(marketplace), nil
	}
	t, _, err := s.deps.Open(ctx, marketplace, Reads{})
	return t, err
}

// serve runs the operation and hands out the token of what it wrote.
func (s *Server) serve(a *answer, r *http.Request) {
	// What the request computes from here on takes turns with other requests, so that auctions find a CPU.
	turn := background.TurnOf(r.Context())
	if turn.Take(r.Context()) != nil {
		s.refuse(a, apierr.RequestCanceled, "")
		return
	}
	defer turn.Give()
	s.observed(a, r)
	if token, ok := r.Context().Value(tokenKey{}).(func() string); ok {
		if text := token(); text != "" {
			a.Header().Set(TokenHeader, text)
		}
	}
}
