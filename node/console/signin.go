package console

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/store"
)

// Session is the answer about the login session of a request.
type Session struct {
	User         SessionUser   `json:"user"`
	Marketplaces []Marketplace `json:"marketplaces"`
	Demo         bool          `json:"demo"`
	Version      string        `json:"version"`
}

// SessionUser is who is signed in. Role and VendorID are those that the request uses.
type SessionUser struct {
	ID       string            `json:"id"`
	Email    string            `json:"email"`
	Name     string            `json:"name"`
	Role     store.ConsoleRole `json:"role"`
	VendorID string            `json:"vendorId,omitempty"`
}

// Marketplace is one right of the user. A marketplace in which the user works for two vendors is listed twice; the header
// X-Gavel-Vendor chooses between them.
type Marketplace struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Currency string            `json:"currency"`
	Exponent uint8             `json:"currencyExponent"`
	TimeZone string            `json:"timeZone"`
	Role     store.ConsoleRole `json:"role"`
	VendorID string            `json:"vendorId,omitempty"`
}

// Needs is the error that a page without a login session gets. NeedsAdmin says that there is no admin yet, Provider is the name of the
// identity provider through which people may sign in, empty without one.
type Needs struct {
	ErrCode    string `json:"errCode"`
	Message    string `json:"message"`
	NeedsAdmin bool   `json:"needsAdmin"`
	Provider   string `json:"provider,omitempty"`
}

// session answers who is signed in.
func (h handlers) session(_ http.ResponseWriter, r *http.Request) (any, error) {
	who, code := h.Identify(r)
	switch {
	case code == apierr.NotSignedIn:
		return h.needs()
	case code == apierr.ForbiddenRole: // It may choose another marketplace.
		who.Access = store.ConsoleAccess{}
	case code != apierr.OK:
		return nil, apierr.New(code, "")
	}
	return h.describe(&who.User, who.Access), nil
}

// needs returns the answer 401 with what the sign-in page has to show.
func (h handlers) needs() (any, error) {
	has, err := h.deps.Store.People().HasAdmin()
	if err != nil {
		return nil, err
	}
	return Needs{apierr.NotSignedIn.String(), apierr.NotSignedIn.Message(), !has, h.config.Access.Name}, nil
}

// describe returns the answer about a user with the access that a request uses.
func (s *Service) describe(u *store.ConsoleUser, access store.ConsoleAccess) Session {
	out := Session{
		User: SessionUser{u.ID.String(), u.Email, u.Name, access.Role, access.Vendor}, Marketplaces: []Marketplace{},
		Demo: s.config.Demo, Version: s.config.Version,
	}
	for _, a := range u.Access {
		if m := s.marketplace(a.Marketplace); m != nil {
			out.Marketplaces = append(out.Marketplaces, Marketplace{
				m.ID.String(), m.Name, m.CurrencyCode, m.CurrencyExponent, m.TimeZone, a.Role, a.Vendor,
			})
		}
	}
	return out
}

// Credentials is the body of a sign-in.
type Credentials struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Code     string `json:"code"` // Of the second factor, for users who have one.
}

// signIn compares the credentials and begins a login session. A user with a second factor sends the password again together with the
// code. So there are no sessions that are half signed in.
func (h handlers) signIn(w http.ResponseWriter, r *http.Request) (any, error) {
	in, err := read[Credentials](r)
	if err != nil {
		return nil, err
	}
	u, err := h.verify(r, in.Email, in.Password, in.Code)
	if err != nil {
		return nil, err
	}
	return h.begin(w, r, &u, "signIn")
}

// verify returns the user with an address and a password, whose second factor has the code if there is one. It counts the attempt.
func (h handlers) verify(r *http.Request, email, password, code string) (store.ConsoleUser, error) {
	u, attempt, err := h.password(r, email, password)
	if err == nil {
		err = h.present(r, &u, code)
	}
	switch {
	case err == nil:
		attempt.Succeeded()
	case code == "" && isCode(err, apierr.SecondFactorRequired):
		attempt.Withdraw()
	}
	return u, err
}

// password returns the user with an address and a password, and the attempt, which counts as failed until the caller says otherwise.
func (h handlers) password(r *http.Request, email, password string) (store.ConsoleUser, login.Attempt, error) {
	attempt, until, allowed := h.attempts.Begin(h.Client(r), email, h.deps.Now())
	if !allowed {
		return store.ConsoleUser{}, attempt, wait{until}
	}
	u, err := h.people(r.Context()).UserByEmail(email)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return u, attempt, err
	}
	ok, outdated, err := h.deps.Hasher.Verify(r.Context(), password, u.PasswordHash)
	switch {
	case err != nil:
		return u, attempt, err
	case !ok:
		return u, attempt, apierr.New(apierr.WrongCredentials, "")
	}
	if outdated {
		h.rehash(r.Context(), &u, password)
	}
	return u, attempt, nil
}

// isCode reports whether an error is the refusal with a code.
func isCode(err error, code apierr.Code) bool {
	refusal, ok := errors.AsType[*apierr.Error](err)
	return ok && refusal.Code == code
}

// rehash replaces a hash with older parameters. It may fail; the next sign-in tries again.
func (h handlers) rehash(ctx context.Context, u *store.ConsoleUser, password string) {
	hash, err := h.deps.Hasher.Hash(ctx, password)
	if err != nil {
		return
	}
	before := u.PasswordHash
	_, _ = h.people(ctx).Change(ctx, u.ID, func(now *store.ConsoleUser) error {
		if now.PasswordHash != before {
			return store.ErrChanged
		}
		now.PasswordHash = hash
		return nil
	})
}

// agentMax is how much of a User-Agent is stored, in bytes.
const agentMax = 200

// begin begins a login session with a new secret, so that nobody who knew the cookie before knows it now. The session that the
// request came with ends. The operation names how the user signed in, for the audit log.
func (h handlers) begin(w http.ResponseWriter, r *http.Request, u *store.ConsoleUser, operation string) (any, error) {
	return audited(h, r, u, operation, func(ctx context.Context) (any, error) {
		secret := login.NewSecret()
		key, _ := login.KeyOf(secret)
		agent := r.UserAgent()
		if _, err := h.people(ctx).SignIn(ctx, u, key, store.LoginSession{
			Address: h.Client(r).String(), Agent: agent[:min(len(agent), agentMax)],
		}); err != nil {
			return nil, err
		}
		if old, ok := h.cookieKey(r); ok {
			if err := h.people(ctx).SignOut(ctx, old); err != nil {
				return nil, err
			}
		}
		http.SetCookie(w, h.cookie(secret, int(store.LoginSessionMax.Seconds())))
		access, _ := h.choose(r, u.Access)
		return h.describe(u, access), nil
	})
}

// signOut ends the login session of the request, if there is one.
func (h handlers) signOut(w http.ResponseWriter, r *http.Request) (any, error) {
	key, ok := h.cookieKey(r)
	if ok {
		if err := h.people(r.Context()).SignOut(r.Context(), key); err != nil {
			return nil, err
		}
	}
	http.SetCookie(w, h.cookie("", -1))
	return nil, nil //nolint:nilnil // An answer without a body.
}

// Setup is the body of the request that makes the first admin.
type Setup struct {
	Token    string `json:"token"`
	Email    string `json:"email"`
	Name     string `json:"name"`
	Password string `json:"password"`
}

// setup makes the first admin and signs in.
func (h handlers) setup(w http.ResponseWriter, r *http.Request) (any, error) {
	in, err := read[Setup](r)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(in.Token), []byte(h.setupToken())) != 1 {
		return nil, apierr.New(apierr.WrongCredentials, "the link is not that of this cluster")
	}
	if err := errors.Join(CheckEmail(in.Email), checkPerson(in.Name, in.Password)); err != nil {
		return nil, err
	}
	u, err := audited(h, r, &store.ConsoleUser{Email: in.Email}, "createFirstAdmin", func(ctx context.Context) (store.ConsoleUser, error) {
		return h.createAdmin(ctx, in.Email, in.Name, in.Password)
	})
	if errors.Is(err, store.ErrAlreadyExists) {
		return nil, apierr.New(apierr.InvalidOperation, "there is an admin already; sign in, or run gavel admin create on the node")
	}
	if err != nil {
		return nil, err
	}
	return h.begin(w, r, &u, "signIn")
}

// createAdmin makes the first admin of the cluster. ErrAlreadyExists when there was one before.
func (s *Service) createAdmin(ctx context.Context, email, name, password string) (store.ConsoleUser, error) {
	hash, err := s.deps.Hasher.Hash(ctx, password)
	if err != nil {
		return store.ConsoleUser{}, err
	}
	return s.people(ctx).CreateFirst(ctx, store.ConsoleUser{
		Email: email, Name: name, PasswordHash: hash,
		Access: []store.ConsoleAccess{AdminAccess},
	})
}

// PasswordChange is the body of a change of the user's own password.
type PasswordChange struct {
	Current string `json:"current"`
	New     string `json:"new"`
}

// changePassword sets the user's password. All other login sessions of the user end, and this one gets another secret.
func (h handlers) changePassword(w http.ResponseWriter, r *http.Request) (any, error) {
	l, code := h.login(r)
	if code != apierr.OK {
		return nil, apierr.New(code, "")
	}
	in, err := read[PasswordChange](r)
	if err != nil {
		return nil, err
	}
	if err := login.CheckPassword(in.New); err != nil {
		return nil, bad("new", err.Error())
	}
	_, attempt, err := h.password(r, l.User.Email, in.Current)
	if err != nil {
		return nil, err
	}
	attempt.Succeeded()
	hash, err := h.deps.Hasher.Hash(r.Context(), in.New)
	if err != nil {
		return nil, err
	}
	return audited(h, r, &l.User, "changeOwnPassword", func(ctx context.Context) (any, error) {
		secret := login.NewSecret()
		next, _ := login.KeyOf(secret)
		if _, err := h.people(ctx).ChangePassword(ctx, &l, next, hash); err != nil {
			return nil, err
		}
		http.SetCookie(w, h.cookie(secret, int(store.LoginSessionMax.Seconds())))
		return nil, nil //nolint:nilnil // An answer without a body.
	})
}

// marketplaceOf is the marketplace whose audit log has what a user does with its own account.
func marketplaceOf(u *store.ConsoleUser) uint16 {
	if i := slices.IndexFunc(u.Access, func(a store.ConsoleAccess) bool { return a.Marketplace != 0 }); i >= 0 {
		return u.Access[i].Marketplace
	}
	return store.OperatorMarketplace
}
