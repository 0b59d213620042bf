package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/store"
)

// totpIssuer names the console in the list of an app.
const totpIssuer = "Gavel"

// errCode is the refusal of a code. Why a code is wrong is not told: it may be another's, too old, or used before.
var errCode = apierr.New(apierr.SecondFactorRequired, "the code is not valid now, or was used before; use the next code of the app, or a recovery code")

// SecondFactor is the answer about the user's own second factor.
type SecondFactor struct {
	On            bool       `json:"on"`
	Since         *time.Time `json:"since,omitempty"`
	RecoveryCodes int        `json:"recoveryCodes"` // How many are left.
	// HasPassword is false for a user who signs in through the identity provider alone, which has a second factor of its own.
	HasPassword bool `json:"hasPassword"`
}

// Password is the body of a request that the user's password has to confirm.
type Password struct {
	Password string `json:"password"`
}

// PasswordAndCode is the body of a change of a second factor that is on.
type PasswordAndCode struct {
	Password string `json:"password"`
	Code     string `json:"code"`
}

// Code is the body that confirms a second factor.
type Code struct {
	Code string `json:"code"`
}

// SecondFactorSecret is the answer with a secret that an app has to read. It is shown once.
type SecondFactorSecret struct {
	Secret  string `json:"secret"`
	Address string `json:"address"`
	QRCode  string `json:"qrCode"` // SVG.
}

// RecoveryCodes is the answer with recovery codes. They are shown once.
type RecoveryCodes struct {
	Codes []string `json:"codes"`
}

// own returns the login session of a request about the user's own account.
func (h handlers) own(r *http.Request) (store.Login, error) {
	l, code := h.login(r)
	if code != apierr.OK {
		return l, apierr.New(code, "")
	}
	return l, nil
}

// secondFactor answers whether the user has a second factor.
func (h handlers) secondFactor(_ http.ResponseWriter, r *http.Request) (any, error) {
	l, err := h.own(r)
	if err != nil {
		return nil, err
	}
	out := SecondFactor{HasPassword: l.User.PasswordHash != ""}
	f, err := h.people(r.Context()).SecondFactor(l.User.ID)
	if errors.Is(err, store.ErrNotFound) {
		return out, nil
	}
	since := time.UnixMilli(f.ConfirmedMillis).UTC()
	out.On, out.Since, out.RecoveryCodes = true, &since, len(f.Recovery)
	return out, err
}

// beginSecondFactor makes a secret and shows it. It asks for the password, or whoever finds an open console could lock its user out.
func (h handlers) beginSecondFactor(_ http.ResponseWriter, r *http.Request) (any, error) {
	l, err := h.own(r)
	if err != nil {
		return nil, err
	}
	in, err := read[Password](r)
	if err != nil {
		return nil, err
	}
	_, attempt, err := h.password(r, l.User.Email, in.Password)
	if err != nil {
		return nil, err
	}
	attempt.Succeeded()
	secret := login.NewTOTPSecret()
	address := login.TOTPAddress(secret, totpIssuer, l.User.Email)
	svg, err := login.QRCode(address)
	if err != nil {
		return nil, err
	}
	err = h.people(r.Context()).BeginSecondFactor(r.Context(), l.User.ID, secret)
	if errors.Is(err, store.ErrAlreadyExists) {
		err = apierr.New(apierr.InvalidOperation, "there is a second factor already; turn it off first")
	}
	return SecondFactorSecret{login.TOTPText(secret), address, svg}, err
}

// confirmSecondFactor turns the second factor on after the app has shown a code. All other login sessions of the user end, because they
// began without it, and this one gets another secret.
func (h handlers) confirmSecondFactor(w http.ResponseWriter, r *http.Request) (any, error) {
	l, err := h.own(r)
	if err != nil {
		return nil, err
	}
	in, err := read[Code](r)
	if err != nil {
		return nil, err
	}
	codes, hashes := login.NewRecoveryCodes()
	secret := login.NewSecret()
	next, _ := login.KeyOf(secret)
	_, err = audited(h, r, &l.User, "turnOnSecondFactor", func(ctx context.Context) (any, error) {
		return nil, h.people(ctx).ConfirmSecondFactor(ctx, &l, next, hashes, func(f *store.SecondFactor) (int64, error) {
			step, ok := login.TOTPStep(f.Secret, strings.TrimSpace(in.Code), h.deps.Now(), 0)
			if !ok {
				return 0, bad("code", "is not what the app shows now; check that the clocks of the phone and of this node are right")
			}
			return step, nil
		})
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, apierr.New(apierr.InvalidOperation, "no second factor is being set up; begin again")
	case errors.Is(err, store.ErrAlreadyExists):
		return nil, apierr.New(apierr.InvalidOperation, "there is a second factor already")
	case err != nil:
		return nil, err
	}
	http.SetCookie(w, h.cookie(secret, int(store.LoginSessionMax.Seconds())))
	return RecoveryCodes{codes}, nil
}

// changeOwnFactor serves a change of the user's own second factor, which the password and a code confirm.
func (h handlers) changeOwnFactor(operation string, change func(ctx context.Context, l *store.Login) (any, error)) func(http.ResponseWriter, *http.Request) (any, error) {
	return func(_ http.ResponseWriter, r *http.Request) (any, error) {
		l, err := h.own(r)
		if err != nil {
			return nil, err
		}
		in, err := read[PasswordAndCode](r)
		if err != nil {
			return nil, err
		}
		if _, err := h.verify(r, l.User.Email, in.Password, in.Code); err != nil {
			return nil, err
		}
		return audited(h, r, &l.User, operation, func(ctx context.Context) (any, error) { return change(ctx, &l) })
	}
}

// turnOffSecondFactor removes the user's own second factor.
func (h handlers) turnOffSecondFactor(ctx context.Context, l *store.Login) (any, error) {
	return nil, h.people(ctx).RemoveSecondFactor(ctx, l.User.ID)
}

// replaceRecoveryCodes makes new recovery codes; the old ones are of no use any more.
func (h handlers) replaceRecoveryCodes(ctx context.Context, l *store.Login) (any, error) {
	codes, hashes := login.NewRecoveryCodes()
	return RecoveryCodes{codes}, h.people(ctx).ChangeSecondFactor(ctx, l.User.ID, func(f *store.SecondFactor) error {
		f.Recovery = hashes
		return nil
	})
}

// present checks the code of a user whose password is right, and uses it up. It is no error when the user has no second factor.
func (h handlers) present(r *http.Request, u *store.ConsoleUser, code string) error {
	_, err := h.people(r.Context()).SecondFactor(u.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case code == "":
		return apierr.New(apierr.SecondFactorRequired, "")
	}
	if hash, ok := login.RecoveryHash(code); ok {
		_, err := audited(h, r, u, "useRecoveryCode", func(ctx context.Context) (any, error) {
			return nil, h.people(ctx).ChangeSecondFactor(ctx, u.ID, func(f *store.SecondFactor) error { return useRecovery(f, hash) })
		})
		return err
	}
	return h.people(r.Context()).ChangeSecondFactor(r.Context(), u.ID, func(f *store.SecondFactor) error {
		step, ok := login.TOTPStep(f.Secret, strings.TrimSpace(code), h.deps.Now(), f.LastStep)
		if !ok {
			return errCode
		}
		f.LastStep = step
		return nil
	})
}

// useRecovery takes a recovery code from a second factor. The hashes are of random codes, so how long a comparison takes tells nothing.
func useRecovery(f *store.SecondFactor, hash string) error {
	at := slices.Index(f.Recovery, hash)
	if at < 0 {
		return errCode
	}
	f.Recovery = slices.Delete(f.Recovery, at, at+1)
	return nil
}

// resetSecondFactor turns the second factor of another user off. An admin may do so for a user whose rights are all in the admin's own
// marketplace; for others, the admins of the first marketplace may.
func (h handlers) resetSecondFactor(_ http.ResponseWriter, r *http.Request) (any, error) {
	return h.changeUser(r, "resetSecondFactor", func(ctx context.Context, who *Identity, u *store.ConsoleUser) error {
		elsewhere := slices.ContainsFunc(u.Access, func(a store.ConsoleAccess) bool { return a.Marketplace != who.Access.Marketplace })
		switch {
		case u.ID == who.User.ID:
			return apierr.New(apierr.InvalidOperation, "turn your own second factor off with your password and a code")
		case elsewhere && !who.User.IsAdmin():
			return apierr.New(apierr.ForbiddenRole, "the user works in other marketplaces, too; ask an admin of the first marketplace")
		}
		return h.people(ctx).RemoveSecondFactor(ctx, u.ID)
	})
}
