package console_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/manage/managetest"
)

const (
	clientID     = "gavel"
	clientSecret = "secret-of-gavel"
	startPath    = "/console/api/oidc/start"
)

// provider is an OpenID Connect provider. Its people sign in without being asked, and what it says about them can be forged.
type provider struct {
	*httptest.Server
	env    *managetest.Environment
	key    *ecdsa.PrivateKey
	claims map[string]any                                               // Of the person who signs in, over those that every token has.
	sign   func(p *provider, head map[string]any, claims []byte) string // How tokens are signed; ES256 if nil.
	codes  map[string]url.Values                                        // What was asked for, by codes that were not used yet.
	asked  int                                                          // How many tokens were asked for.
}

// newProvider starts a provider, and a node through which its people sign in.
func newProvider(t *testing.T, env *managetest.Environment, access console.ProviderAccess) (*provider, http.Handler) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{env: env, key: key, codes: map[string]url.Values{}, claims: map[string]any{
		"email": "ada@example.com", "email_verified": true, "name": "Ada",
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{"keys": []any{map[string]any{
			"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "1", "x": coordinate(key.X), "y": coordinate(key.Y),
		}}})
	})
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	of := login.NewProvider(login.ProviderConfig{
		Issuer: p.URL, ClientID: clientID, ClientSecret: clientSecret, RedirectURL: managetest.PublicURL + console.ProviderCallback,
	}, env.Now)
	if access.Name == "" {
		access.Name = "Example"
	}
	return p, env.NodeWithProvider(t, of, access)
}

func coordinate(n *big.Int) string {
	return base64.RawURLEncoding.EncodeToString(n.FillBytes(make([]byte, 32)))
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // The test fails when the node gets no answer.
}

// authorize is what the provider does with a browser that comes to an address: it sends it back with a code and the state.
func (p *provider) authorize(t *testing.T, address string) (code, state string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Scheme+"://"+u.Host+u.Path != p.URL+"/authorize" {
		t.Fatalf("the browser is sent to %s, %v", address, err)
	}
	q := u.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": clientID, "redirect_uri": managetest.PublicURL + console.ProviderCallback,
		"scope": "openid email profile", "code_challenge_method": "S256",
	} {
		if q.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	if len(q.Get("state")) != 43 || len(q.Get("nonce")) != 43 || len(q.Get("code_challenge")) != 43 || q.Get("state") == q.Get("nonce") {
		t.Errorf("the address is %s", address)
	}
	code = login.NewSecret()
	p.codes[code] = q
	return code, q.Get("state")
}

// token exchanges a code. As RFC 7636 says, the verifier must be that of the challenge.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.asked++
	asked, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	id, secret, _ := r.BasicAuth()
	if !known || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") || id != clientID || secret != clientSecret ||
		r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		answer(w, 400, map[string]any{"error": "invalid_grant"})
		return
	}
	now := p.env.Now().Unix()
	claims := map[string]any{"iss": p.URL, "sub": "1", "aud": clientID, "iat": now, "exp": now + 300, "nonce": asked.Get("nonce")}
	maps.Copy(claims, p.claims)
	for name, v := range claims {
		if v == nil {
			delete(claims, name)
		}
		if later, ok := v.(time.Duration); ok { // A time, from now.
			claims[name] = now + int64(later.Seconds())
		}
	}
	text, _ := json.Marshal(claims)
	sign := p.sign
	if sign == nil {
		sign = (*provider).es256
	}
	answer(w, 200, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": sign(p, map[string]any{"alg": "ES256", "kid": "1"}, text)})
}

// unsigned is the part of a token that is signed.
func unsigned(head map[string]any, claims []byte) string {
	text, _ := json.Marshal(head)
	return base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(claims)
}

func (p *provider) es256(head map[string]any, claims []byte) string {
	return signedWith(p.key, head, claims)
}

func signedWith(key *ecdsa.PrivateKey, head map[string]any, claims []byte) string {
	text := unsigned(head, claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		panic(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// hs256 signs with the client's secret.
func hs256(_ *provider, head map[string]any, claims []byte) string {
	head["alg"] = "HS256"
	text := unsigned(head, claims)
	mac := hmac.New(crypto.SHA256.New, []byte(clientSecret))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// noSignature makes a token that says that it needs none.
func noSignature(_ *provider, head map[string]any, claims []byte) string {
	head["alg"] = "none"
	return unsigned(head, claims) + "."
}
