package console

import (
	"context"
	"errors"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// The functions below are for whoever administers the machine of a node. They prove nothing about the caller, and their errors are
// those of the store or an *apierr.Error about what was sent.

// AdminAccess is the right of the cluster's operator.
var AdminAccess = store.ConsoleAccess{Marketplace: store.OperatorMarketplace, Role: store.RoleAdmin}

// EnsureAdmin makes the first admin from what the operator configured, unless there is or was an admin.
func (s *Service) EnsureAdmin(ctx context.Context, email, password string) error {
	has, err := s.people(ctx).HasAdmin()
	if err != nil || has {
		return err
	}
	if _, err = s.createAdmin(ctx, email, email, password); errors.Is(err, store.ErrAlreadyExists) {
		return nil // Another node was faster.
	}
	return err
}

// CreateAdmin makes an admin of the first marketplace. Another user with the address becomes one, gets the password and loses the
// second factor. An admin with the address keeps what it has, and the error says so.
func (s *Service) CreateAdmin(ctx context.Context, email, name, password string) error {
	if err := errors.Join(CheckEmail(email), checkPerson(name, password)); err != nil {
		return err
	}
	hash, err := s.deps.Hasher.Hash(ctx, password)
	if err != nil {
		return err
	}
	u, err := s.people(ctx).UserByEmail(email)
	if errors.Is(err, store.ErrNotFound) {
		_, err = s.people(ctx).Create(ctx, store.ConsoleUser{
			Email: email, Name: name, PasswordHash: hash, Access: []store.ConsoleAccess{AdminAccess},
		})
		return err
	}
	switch {
	case err != nil:
		return err
	case u.IsAdmin():
		return apierr.New(apierr.AlreadyExists, email+" is an admin already; gavel admin reset-password sets another password")
	}
	if _, err = s.people(ctx).Change(ctx, u.ID, func(u *store.ConsoleUser) error {
		u.PasswordHash = hash
		u.Epoch++
		return u.Grant(AdminAccess)
	}); err != nil {
		return err
	}
	return s.dropSecondFactor(ctx, u.ID)
}

// dropSecondFactor turns the second factor of a user off, if there is one: whoever lost the phone and the recovery codes gets back in
// through the node's machine.
func (s *Service) dropSecondFactor(ctx context.Context, user ids.UUID) error {
	if err := s.people(ctx).RemoveSecondFactor(ctx, user); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// Admins lists the admins of the first marketplace, newest first. BOUND: adminsListed.
func (s *Service) Admins(ctx context.Context) ([]store.ConsoleUser, error) {
	all, _, err := s.people(ctx).Users(store.Page{Limit: adminsListed}, (*store.ConsoleUser).IsAdmin)
	return all, err
}

const adminsListed = 1_000

// Remove removes the user with an address; all sessions of the user end.
func (s *Service) Remove(ctx context.Context, email string) error {
	u, err := s.people(ctx).UserByEmail(email)
	if err != nil {
		return err
	}
	return s.people(ctx).Remove(ctx, u.ID)
}

// ResetPassword sets the password of the user with an address and turns the second factor off; all sessions of the user end.
func (s *Service) ResetPassword(ctx context.Context, email, password string) error {
	if err := login.CheckPassword(password); err != nil {
		return bad("password", err.Error())
	}
	u, err := s.people(ctx).UserByEmail(email)
	if err != nil {
		return err
	}
	hash, err := s.deps.Hasher.Hash(ctx, password)
	if err != nil {
		return err
	}
	if _, err = s.people(ctx).Change(ctx, u.ID, func(u *store.ConsoleUser) error {
		u.PasswordHash = hash
		u.Epoch++
		return nil
	}); err != nil {
		return err
	}
	return s.dropSecondFactor(ctx, u.ID)
}

// IsInput reports whether an error is about what the caller sent.
func IsInput(err error) bool {
	_, input := errors.AsType[*apierr.Error](err)
	return input
}
