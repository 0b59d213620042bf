package console_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/manage/managetest"
	"github.com/gavel-ads/gavel/node/store"
)

// traveller is a browser that goes to the provider and back. It keeps both cookies of the console.
type traveller struct {
	*browser
	began *http.Cookie
}

// visit sends a GET request and returns where the answer leads to.
func (b *traveller) visit(path string) string {
	b.Helper()
	visitor := *b.browser
	visitor.cookie = nil
	if b.began != nil {
		visitor.header = map[string]string{"Sec-Fetch-Site": "cross-site", "Cookie": b.began.Name + "=" + b.began.Value}
	}
	w := visitor.send("GET", path, "")
	if w.Code != http.StatusSeeOther || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Referrer-Policy") != "no-referrer" {
		b.Fatalf("GET %s: %d %v", path, w.Code, w.Header())
	}
	for _, c := range w.Result().Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
			b.Errorf("the cookie %+v", c)
		}
		switch {
		case c.Name == "gavel_session":
			b.cookie = c
		case c.MaxAge < 0:
			b.began = nil
		default:
			b.began = c
		}
	}
	return w.Header().Get("Location")
}

// through goes through the provider and returns where the console leads to.
func (b *traveller) through(t *testing.T, p *provider) string {
	t.Helper()
	code, state := p.authorize(t, b.visit(startPath))
	return b.visit(callback(code, state))
}

func callback(code, state string) string {
	return console.ProviderCallback + "?" + url.Values{"code": {code}, "state": {state}}.Encode()
}

// Whoever the provider knows by the verified address of a user is signed in, on whatever node the browser comes back.
func TestTheProviderSignsIn(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	p, node := newProvider(t, env, console.ProviderAccess{})
	b := &traveller{browser: ada.fresh().on(node)}
	if a := b.must(401, "GET", sessionPath, ""); a["provider"] != "Example" {
		t.Errorf("without a session: %v", a)
	}
	p.claims["email"] = "ADA@example.com"
	if to := b.through(t, p); to != "/console" || b.began != nil {
		t.Errorf("the browser is sent to %s, with the cookie %v", to, b.began)
	}
	if user := b.must(200, "GET", sessionPath, "")["user"].(map[string]any); user["email"] != "ada@example.com" {
		t.Errorf("signed in is %v", user)
	}
	entries := b.must(200, "GET", "/console/api/v1/audit-service/entries?operation=signInWithProvider", "")["entries"].([]any)
	if len(entries) != 1 || entries[0].(map[string]any)["userEmail"] != "ada@example.com" {
		t.Errorf("the audit log has %v", entries)
	}
	first := b.cookie.Value
	if b.through(t, p); b.cookie.Value == first {
		t.Error("the second sign-in kept the secret of the session")
	}
}

// A sign-in that proves nothing begins no session, whatever is wrong with it.
func TestForgedSignInsAreRefused(t *testing.T) {
	env := managetest.New(t)
	setUp(t, env)
	p, node := newProvider(t, env, console.ProviderAccess{})
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		claims map[string]any
		sign   func(*provider, map[string]any, []byte) string
		result string
	}{
		"nonce of another sign-in": {claims: map[string]any{"nonce": login.NewSecret()}, result: "invalid"},
		"no nonce":                 {claims: map[string]any{"nonce": nil}, result: "invalid"},
		"another issuer":           {claims: map[string]any{"iss": "https://evil.example"}, result: "invalid"},
		"another audience":         {claims: map[string]any{"aud": "shop"}, result: "invalid"},
		"another authorized party": {claims: map[string]any{"aud": []string{clientID, "shop"}, "azp": "shop"}, result: "invalid"},
		"expired":                  {claims: map[string]any{"exp": -time.Second}, result: "invalid"},
		"not valid yet":            {claims: map[string]any{"nbf": time.Hour}, result: "invalid"},
		"algorithm none":           {sign: noSignature, result: "invalid"},
		"signed with the secret":   {sign: hs256, result: "invalid"},
		"signed by somebody else": {sign: func(_ *provider, head map[string]any, claims []byte) string {
			return signedWith(other, head, claims)
		}, result: "invalid"},
		"changed after the signature": {sign: func(p *provider, head map[string]any, claims []byte) string {
			parts := strings.Split(p.es256(head, claims), ".")
			parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(claims), `"sub":"1"`, `"sub":"2"`, 1)))
			return strings.Join(parts, ".")
		}, result: "invalid"},
		"no token":             {sign: func(*provider, map[string]any, []byte) string { return "" }, result: "invalid"},
		"address not verified": {claims: map[string]any{"email_verified": false}, result: "unverified"},
		"verified as a text":   {claims: map[string]any{"email_verified": "true"}, result: "unverified"},
		"nothing about it":     {claims: map[string]any{"email_verified": nil}, result: "unverified"},
		"no address":           {claims: map[string]any{"email": nil}, result: "unverified"},
		"address of nobody":    {claims: map[string]any{"email": "eve@example.com"}, result: "unknown"},
	} {
		p.claims = map[string]any{"email": "ada@example.com", "email_verified": true}
		maps.Copy(p.claims, c.claims)
		p.sign = c.sign
		b := &traveller{browser: newBrowser(t, env).on(node)}
		if to := b.through(t, p); to != "/console?signIn="+c.result || b.cookie != nil {
			t.Errorf("%s: the browser is sent to %s with the cookie %v", name, to, b.cookie)
		}
		env.Advance(login.LockWindow) // So that none of them is locked out for the others.
	}
}

// A browser finishes only what it has begun itself, once, and in ten minutes; the provider is not even asked otherwise.
func TestASignInIsFinishedWhereItWasBegun(t *testing.T) {
	env := managetest.New(t)
	setUp(t, env)
	p, node := newProvider(t, env, console.ProviderAccess{})
	refused := func(what string, b *traveller, path string) {
		t.Helper()
		before := p.asked
		if to := b.visit(path); to != "/console?signIn=invalid" || b.cookie != nil || p.asked != before {
			t.Errorf("%s: the browser is sent to %s with the cookie %v, and %d tokens were asked for", what, to, b.cookie, p.asked-before)
		}
	}
	begin := func() (b *traveller, code, state string) {
		b = &traveller{browser: newBrowser(t, env).on(node)}
		code, state = p.authorize(t, b.visit(startPath))
		return b, code, state
	}
	_, code, state := begin()
	refused("a browser that began nothing", &traveller{browser: newBrowser(t, env).on(node)}, callback(code, state))
	ada, own, _ := begin()
	refused("the state of another browser", ada, callback(code, state))
	refused("what was refused before", ada, callback(own, state))
	for _, wrong := range []string{"", "x", state[:42], state + "x"} {
		b, code, _ := begin()
		refused("the state "+wrong, b, callback(code, wrong))
	}
	late, code, state := begin()
	env.Advance(10 * time.Minute)
	refused("ten minutes later", late, callback(code, state))
	forged, code, _ := begin()
	forged.began.Value = login.NewSecret() + ".1773739800000"
	refused("a cookie of one's own making", forged, callback(code, state))

	bad, _, state := begin()
	if to := bad.visit(callback("a code that the provider did not give", state)); to != "/console?signIn=invalid" {
		t.Errorf("with a wrong code: %s", to)
	}
	denied, _, state := begin()
	if to := denied.visit(console.ProviderCallback + "?error=access_denied&state=" + state); to != "/console?signIn=refused" {
		t.Errorf("refused by the person: %s", to)
	}
}

// Nothing in the address of a request changes where its answer leads to.
func TestTheProviderRedirectsNowhereElse(t *testing.T) {
	env := managetest.New(t)
	p, node := newProvider(t, env, console.ProviderAccess{})
	const evil = "next=https://evil.example&redirect_uri=https://evil.example&return_to=//evil.example&signIn=x"
	b := &traveller{browser: newBrowser(t, env).on(node)}
	code, state := p.authorize(t, b.visit(startPath+"?"+evil))
	if to := b.visit(callback(code, state) + "&" + evil); to != "/console?signIn=unknown" {
		t.Errorf("the browser is sent to %s", to)
	}
	for _, path := range []string{"?error=x&error_description=https://evil.example&" + evil, "?" + evil, ""} {
		if to := b.visit(console.ProviderCallback + path); to != "/console?signIn=invalid" {
			t.Errorf("the browser is sent to %s", to)
		}
	}
	without := newBrowser(t, managetest.New(t))
	for _, path := range []string{startPath, console.ProviderCallback} {
		if w := without.send("GET", path, ""); w.Code != 404 || w.Header().Get("Location") != "" {
			t.Errorf("without a provider %s: %d to %q", path, w.Code, w.Header().Get("Location"))
		}
	}
}

// A value of the claim that the settings map to a role makes a user at the first sign-in. The role of a user who exists stays as it is.
func TestAClaimMakesAUser(t *testing.T) {
	env := managetest.New(t)
	ada := setUp(t, env)
	p, node := newProvider(t, env, console.ProviderAccess{Claim: "groups", Roles: []console.ProviderRole{
		{Value: "ads-ops", Role: store.RoleOperator}, {Value: "bi", Role: store.RoleAnalyst},
	}})
	for email, c := range map[string]struct {
		groups any
		role   string
	}{
		"bob@example.com":  {[]string{"bi", "ads-ops"}, "operator"},
		"carl@example.com": {"bi", "analyst"},
		"dora@example.com": {[]string{"shop"}, ""},
		"ed@example.com":   {nil, ""},
		"fay@example.com":  {map[string]any{"bi": true}, ""},
		"ada@example.com":  {[]string{"bi"}, "admin"},
	} {
		p.claims = map[string]any{"email": email, "email_verified": true, "name": strings.Repeat("n", 101), "groups": c.groups}
		b := &traveller{browser: newBrowser(t, env).on(node)}
		if to := b.through(t, p); (to == "/console") != (c.role != "") {
			t.Errorf("%s is sent to %s", email, to)
		}
		if c.role == "" {
			continue
		}
		if user := b.must(200, "GET", sessionPath, "")["user"].(map[string]any); user["role"] != c.role {
			t.Errorf("%s has the role %v, want %s", email, user["role"], c.role)
		}
		b.must(401, "POST", sessionPath, `{"email":"`+email+`","password":""}`)
	}
	if n := len(ada.must(200, "GET", "/console/api/v1/audit-service/entries?operation=createUserOfProvider", "")["entries"].([]any)); n != 2 {
		t.Errorf("the audit log has %d new users", n)
	}
}

// A provider that is away stops no sign-in with a password, and is asked again after a pause.
func TestAProviderThatIsAway(t *testing.T) {
	env := managetest.New(t)
	setUp(t, env)
	p, node := newProvider(t, env, console.ProviderAccess{})
	handler := p.Config.Handler
	asked := 0
	p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; w.WriteHeader(503) })
	b := &traveller{browser: newBrowser(t, env).on(node)}
	for range 3 {
		if to := b.visit(startPath); to != "/console?signIn=unavailable" || b.began != nil {
			t.Errorf("the browser is sent to %s", to)
		}
	}
	if asked != 1 {
		t.Errorf("the provider was asked %d times", asked)
	}
	b.must(200, "POST", sessionPath, credentials(password))
	p.Config.Handler = handler
	env.Advance(5 * time.Second)
	if to := (&traveller{browser: newBrowser(t, env).on(node)}).through(t, p); to != "/console" {
		t.Errorf("when it is back: %s", to)
	}
}

// Codes that the provider refuses count as failed attempts of the address.
func TestGuessingCodesOfTheProviderIsLockedOut(t *testing.T) {
	env := managetest.New(t)
	setUp(t, env)
	p, node := newProvider(t, env, console.ProviderAccess{})
	attempt := func(address string) string {
		b := &traveller{browser: newBrowser(t, env).on(node)}
		b.address = address
		_, state := p.authorize(t, b.visit(startPath))
		return b.visit(callback("x", state))
	}
	for range 10 {
		if to := attempt("192.0.2.1:1"); to != "/console?signIn=invalid" {
			t.Fatalf("the browser is sent to %s", to)
		}
	}
	asked := p.asked
	if to := attempt("192.0.2.1:1"); to != "/console?signIn=too-many" || p.asked != asked {
		t.Errorf("the eleventh is sent to %s", to)
	}
	if to := attempt("192.0.2.2:1"); to != "/console?signIn=invalid" {
		t.Errorf("another address is sent to %s", to)
	}
}

// Attempts with passwords, which name any text as the account, lock nobody out of the sign-in through the provider but their own address.
func TestGuessingPasswordsLocksNobodyOutOfTheProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred passwords are hashed")
	}
	env := managetest.New(t)
	setUp(t, env)
	p, node := newProvider(t, env, console.ProviderAccess{})
	for n := range 100 {
		guesser := newBrowser(t, env).on(node)
		guesser.address = "198.51.100." + strconv.Itoa(1+n/10) + ":1"
		guesser.must(401, "POST", sessionPath, `{"email":"identity provider from 192.0.2.1","password":"guessed password"}`)
	}
	b := &traveller{browser: newBrowser(t, env).on(node)}
	b.address = "192.0.2.1:1"
	if to := b.through(t, p); to != "/console" {
		t.Errorf("the browser is sent to %s", to)
	}
}
