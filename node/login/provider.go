package login

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Bounds of what is asked of an identity provider.
const (
	providerTimeout   = 10 * time.Second // BOUND: of one request.
	providerBodyMax   = 1 << 20          // BOUND: bytes of one answer.
	providerAtOnce    = 8                // BOUND: sign-ins that wait for the provider at the same time; anybody can begin one.
	providerPause     = 5 * time.Second  // How long a failed discovery is not repeated.
	ProviderClaimsMax = 100              // BOUND: values of one claim that are looked at.
)

// ProviderConfig is a client that is registered at an OpenID Connect provider.
type ProviderConfig struct {
	Issuer       string // URL, exactly as the provider writes it.
	ClientID     string
	ClientSecret string // Empty for a public client.
	RedirectURL  string // Of the console; it is registered at the provider.
}

// Provider signs people in through an OpenID Connect provider, by the authorization code flow with PKCE. It reads the provider's
// description when it is needed first, so that a provider that is away stops no node from starting. It is safe for concurrent use.
type Provider struct {
	config  ProviderConfig
	now     func() time.Time
	client  *http.Client
	waiting chan struct{}

	mu     sync.Mutex // LOCKS: of the fields below; it is held during a discovery, which others then wait for.
	found  *oidc.Provider
	failed time.Time // When the last discovery failed.
}

// Flow is what one sign-in shares with the provider. State comes back in the address, Nonce in the token; Verifier is presented for
// the token, and the provider has seen only its hash.
type Flow struct{ State, Nonce, Verifier string }

// Identity is who the provider says has signed in.
type Identity struct {
	Email    string
	Verified bool // Whether the provider has verified that the person receives mail at the address.
	Name     string
	Claims   map[string]any
}

// ErrProvider is returned, wrapped, when the provider cannot be asked.
var ErrProvider = errors.New("the identity provider cannot be asked")

// ErrToken is returned, wrapped, when the provider refuses a code, or when its token proves nothing.
var ErrToken = errors.New("the sign-in at the identity provider is not valid")

// signatures are the algorithms with which a token may be signed: those with a public key. With a shared secret, or none, anybody who
// knows the secret could make a token.
var signatures = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// NewProvider returns a Provider. now decides whether tokens have expired.
func NewProvider(c ProviderConfig, now func() time.Time) *Provider {
	return &Provider{config: c, now: now, waiting: make(chan struct{}, providerAtOnce), client: &http.Client{
		Timeout: providerTimeout, Transport: limitedAnswers{http.DefaultTransport},
		// A provider that redirects its endpoints is not the one that is configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// limitedAnswers cuts answers at providerBodyMax.
type limitedAnswers struct{ http.RoundTripper }

// RoundTrip sends a request.
func (l limitedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, providerBodyMax), answer.Body}
	}
	return answer, err
}

// discover returns the provider as it describes itself.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	if now := p.now(); now.Sub(p.failed) < providerPause {
		return nil, fmt.Errorf("%w: its description could not be read a moment ago", ErrProvider)
	}
	// A browser that has gone away meanwhile must not count as a provider that is away. BOUND: providerTimeout.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.config.Issuer)
	if err != nil {
		p.failed = p.now()
		return nil, fmt.Errorf("%w: %w", ErrProvider, err)
	}
	p.found = found
	return found, nil
}

func (p *Provider) oauth(of *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, RedirectURL: p.config.RedirectURL,
		Endpoint: of.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// begin lets a bounded number of callers wait for the provider.
func (p *Provider) begin() (end func(), err error) {
	select {
	case p.waiting <- struct{}{}:
		return func() { <-p.waiting }, nil
	default:
		return nil, ErrBusy
	}
}

// Address returns where a browser has to go to sign in. ErrBusy or ErrProvider.
func (p *Provider) Address(ctx context.Context, f Flow) (string, error) {
	end, err := p.begin()
	if err != nil {
		return "", err
	}
	defer end()
	of, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	c := p.oauth(of)
	if u, err := url.Parse(c.Endpoint.AuthURL); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("%w: its authorization endpoint is no web address", ErrProvider)
	}
	return c.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), nil
}

// Finish exchanges the code of a sign-in for a token, and returns who it is about. REQUIRES: the state that came with the code is that
// of the flow. ErrBusy, ErrProvider or ErrToken.
func (p *Provider) Finish(ctx context.Context, f Flow, code string) (Identity, error) {
	end, err := p.begin()
	if err != nil {
		return Identity{}, err
	}
	defer end()
	of, err := p.discover(ctx)
	if err != nil {
		return Identity{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	answer, err := p.oauth(of).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < http.StatusInternalServerError {
		return Identity{}, fmt.Errorf("%w: the provider refuses the code: %s", ErrToken, refused.ErrorCode)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrProvider, err)
	}
	raw, _ := answer.Extra("id_token").(string)
	return p.verify(ctx, of, raw, f.Nonce)
}

// verify checks an ID token: signature, issuer, audience, expiry and nonce (OpenID Connect Core, section 3.1.3.7).
func (p *Provider) verify(ctx context.Context, of *oidc.Provider, raw, nonce string) (Identity, error) {
	token, err := of.VerifierContext(ctx, &oidc.Config{ClientID: p.config.ClientID, SupportedSigningAlgs: signatures, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1 {
		return Identity{}, fmt.Errorf("%w: the token was made for another sign-in", ErrToken)
	}
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	if party, named := claims["azp"]; named && party != p.config.ClientID {
		return Identity{}, fmt.Errorf("%w: the token was made for another client", ErrToken)
	}
	id := Identity{Claims: claims}
	id.Email, _ = claims["email"].(string)
	id.Name, _ = claims["name"].(string)
	id.Verified = claims["email_verified"] == true
	return id, nil
}

// Values returns the texts of a claim, which is one text or a list of them. BOUND: ProviderClaimsMax.
func (i *Identity) Values(claim string) (texts []string) {
	list, ok := i.Claims[claim].([]any)
	if !ok {
		list = []any{i.Claims[claim]}
	}
	for _, v := range list[:min(len(list), ProviderClaimsMax)] {
		if text, ok := v.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}
