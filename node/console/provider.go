package console

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/store"
)

// ProviderCallback is the path to which the identity provider sends a browser back.
const ProviderCallback = APIBase + "/oidc/callback"

// ProviderAccess says how people of the identity provider become users of the console.
type ProviderAccess struct {
	Name string // Of the provider, for the button.
	// Claim and Roles say who becomes a user of the first marketplace at the first sign-in: whoever has one of the values of Roles in
	// the claim gets its role, and of several the first. Without them, only those sign in who are users already.
	Claim string
	Roles []ProviderRole
}

// ProviderRole is the role that a value of the claim gives.
type ProviderRole struct {
	Value string
	Role  store.ConsoleRole
}

// flowMax is how long a sign-in at the provider may take. BOUND: the cookie of a sign-in that was begun is of no use later.
const flowMax = 10 * time.Minute

// The names of the cookie of a sign-in that was begun, as for sessions.
const (
	flowCookieTLS   = "__Host-gavel_signin"
	flowCookiePlain = "gavel_signin"
)

func (s *Service) flowCookie(value string, maxAge int) *http.Cookie {
	return s.cookieNamed(flowCookiePlain, flowCookieTLS, value, maxAge)
}

// flow derives what a sign-in shares with the provider from the value of its cookie and a secret of the cluster. So any node can finish
// a sign-in, nothing is stored, and nobody but the cluster can make a cookie that is valid.
func (s *Service) flow(cookie string) login.Flow {
	secret := s.deps.Store.Tenant(store.OperatorMarketplace).CursorKey()
	derive := func(purpose string) string {
		mac := hmac.New(sha256.New, secret[:])
		mac.Write([]byte("gavel console oidc " + purpose + " " + cookie))
		return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	return login.Flow{State: derive("state"), Nonce: derive("nonce"), Verifier: derive("verifier")}
}

// begun returns the flow of the sign-in that a browser has begun, when the state is its state and it is young enough.
func (h handlers) begun(r *http.Request, state string) (login.Flow, bool) {
	sent := r.CookiesNamed(h.flowCookie("", 0).Name)
	if len(sent) != 1 {
		return login.Flow{}, false
	}
	_, millis, _ := strings.Cut(sent[0].Value, ".")
	at, err := strconv.ParseInt(millis, 10, 64)
	age := h.deps.Now().Sub(time.UnixMilli(at))
	f := h.flow(sent[0].Value)
	return f, hmac.Equal([]byte(f.State), []byte(state)) && err == nil && age >= 0 && age < flowMax
}

// The results of a sign-in at the provider that the page explains. A result is the only part of the address that varies, and none of it
// comes from the request: no answer leads anywhere but to the provider and to the console.
const (
	resultInvalid     = "invalid"     // The sign-in was not begun in this browser, took too long, or proves nothing.
	resultRefused     = "refused"     // The provider says no, or the person did.
	resultUnverified  = "unverified"  // The provider has not verified the address.
	resultUnknown     = "unknown"     // Nobody has the address here.
	resultTooMany     = "too-many"    // Too many failed attempts from the address.
	resultUnavailable = "unavailable" // The provider or the cluster does not answer.
)

// redirect sends a browser on. The address of the request, which has a code, is not told to the next page.
func redirect(w http.ResponseWriter, r *http.Request, to string) {
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// startProvider sends the browser to the identity provider.
func (h handlers) startProvider(w http.ResponseWriter, r *http.Request) {
	if h.config.Provider == nil {
		h.Refuse(w, apierr.ResourceNotFound, "")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), changeTimeout)
	defer cancel()
	value := login.NewSecret() + "." + strconv.FormatInt(h.deps.Now().UnixMilli(), 10)
	to, err := h.config.Provider.Address(ctx, h.flow(value))
	if err != nil {
		h.deps.Log.Warn("identity_provider_failed", slog.Any("err", err))
		redirect(w, r, Base+"?signIn="+resultUnavailable)
		return
	}
	http.SetCookie(w, h.flowCookie(value, int(flowMax.Seconds())))
	redirect(w, r, to)
}

// finishProvider signs the person in whom the provider has sent back, and shows the console or why that failed.
func (h handlers) finishProvider(w http.ResponseWriter, r *http.Request) {
	if h.config.Provider == nil {
		h.Refuse(w, apierr.ResourceNotFound, "")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), changeTimeout)
	defer cancel()
	r = r.WithContext(ctx)
	http.SetCookie(w, h.flowCookie("", -1))
	if result := h.finish(w, r); result != "" {
		redirect(w, r, Base+"?signIn="+result)
		return
	}
	redirect(w, r, Base)
}

// finish begins a login session and returns an empty text, or why there is none.
func (h handlers) finish(w http.ResponseWriter, r *http.Request) (result string) {
	query := r.URL.Query()
	f, ok := h.begun(r, query.Get("state"))
	if !ok {
		return resultInvalid
	}
	if query.Get("error") != "" {
		return resultRefused
	}
	client := h.Client(r)
	attempt, _, allowed := h.byProvider.Begin(client, client.String(), h.deps.Now()) // One address is one account.
	if !allowed {
		return resultTooMany
	}
	who, err := h.config.Provider.Finish(r.Context(), f, query.Get("code"))
	if err != nil {
		h.deps.Log.Warn("identity_provider_failed", slog.Any("err", err))
		if errors.Is(err, login.ErrToken) {
			return resultInvalid
		}
		attempt.Withdraw()
		return resultUnavailable
	}
	attempt.Withdraw()
	if !who.Verified || CheckEmail(who.Email) != nil {
		return resultUnverified
	}
	u, err := h.providerUser(r, &who)
	if err == nil {
		_, err = h.begin(w, r, &u, "signInWithProvider")
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return resultUnknown
	case err != nil:
		h.deps.Log.Warn("console_operation_failed", slog.String("path", r.URL.Path), slog.Any("err", err))
		return resultUnavailable
	}
	return ""
}

// providerUser returns the user with the verified address of a person, or makes one when the provider's claim gives a role. ErrNotFound
// otherwise.
func (h handlers) providerUser(r *http.Request, who *login.Identity) (store.ConsoleUser, error) {
	u, err := h.people(r.Context()).UserByEmail(who.Email)
	role := h.config.Access.role(who)
	if !errors.Is(err, store.ErrNotFound) || role == "" {
		return u, err
	}
	name := strings.TrimSpace(who.Name)
	if name == "" || utf8.RuneCountInString(name) > nameMax {
		name = who.Email
	}
	fresh := store.ConsoleUser{Email: who.Email, Name: name, Access: []store.ConsoleAccess{{Marketplace: store.OperatorMarketplace, Role: role}}}
	return audited(h, r, &fresh, "createUserOfProvider", func(ctx context.Context) (store.ConsoleUser, error) {
		return h.people(ctx).Create(ctx, fresh)
	})
}

// role is the role that the claims of a person give, empty for none.
func (a *ProviderAccess) role(who *login.Identity) store.ConsoleRole {
	values := who.Values(a.Claim)
	for _, r := range a.Roles {
		if slices.Contains(values, r.Value) {
			return r.Role
		}
	}
	return ""
}
