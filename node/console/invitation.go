package console

import (
	"context"
	"errors"
	"net/http"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/store"
)

// Acceptance is the body of the request that accepts an invitation. Whoever has an account with the invitation's address already
// sends its password; everybody else chooses a name and a password.
type Acceptance struct {
	Token    string `json:"token"`
	Name     string `json:"name"`
	Password string `json:"password"`
	Code     string `json:"code"` // Of the second factor, for users who have an account and a second factor.
}

// accept accepts an invitation and signs in. The address is that of the invitation: its link was sent there.
func (h handlers) accept(w http.ResponseWriter, r *http.Request) (any, error) {
	in, err := read[Acceptance](r)
	if err != nil {
		return nil, err
	}
	unknown := apierr.New(apierr.WrongCredentials, "the link has expired, was revoked or was used before; ask for another invitation")
	it, err := h.people(r.Context()).Invited(r.Context(), in.Token)
	if errors.Is(err, store.ErrNotFound) {
		return nil, unknown
	}
	if err != nil {
		return nil, err
	}
	u, err := h.accountOf(r, it.Email, &in)
	if err != nil {
		return nil, err
	}
	who := store.ConsoleUser{ID: u.ID, Email: it.Email, Access: []store.ConsoleAccess{it.Access}}
	done, err := audited(h, r, &who, "acceptInvitation", func(ctx context.Context) (store.ConsoleUser, error) {
		return h.people(ctx).Accept(ctx, in.Token, u)
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, unknown
	case errors.Is(err, store.ErrForeignAccount):
		return nil, store.ErrChanged // The account was made after accountOf looked for it.
	case errors.Is(err, store.ErrTooMany):
		return nil, apierr.New(apierr.LimitExceeded, "the account works for as many vendors as an account may")
	case err != nil:
		return nil, err
	}
	return h.begin(w, r, &done, "signIn")
}

// accountOf returns the account that accepts: the existing one of the address, whose password must be right, or a new one.
func (h handlers) accountOf(r *http.Request, email string, in *Acceptance) (store.ConsoleUser, error) {
	_, err := h.people(r.Context()).UserByEmail(email)
	if err == nil {
		return h.verify(r, email, in.Password, in.Code)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return store.ConsoleUser{}, err
	}
	if err := checkPerson(in.Name, in.Password); err != nil {
		return store.ConsoleUser{}, err
	}
	hash, err := h.deps.Hasher.Hash(r.Context(), in.Password)
	return store.ConsoleUser{Name: in.Name, PasswordHash: hash}, err
}
