package store

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// StaffInvitation is a link by which a person gets a role that is bound to no vendor. Everybody gets such a role by a link, also who has
// an account already: in a cluster of several marketplaces nobody knows whether an account that another marketplace made belongs to
// whom its address names.
type StaffInvitation struct {
	Item

	Email         string
	Role          ConsoleRole
	Token         string
	ExpiresMillis int64
}

// AcceptToken is what the link carries.
func (i *StaffInvitation) AcceptToken() string { return i.ID.String() + "." + i.Token }

// staffInvitationsMax is how many invitations a marketplace may have. BOUND: each stays until it is accepted, revoked or replaced.
const staffInvitationsMax = 1_000

var staffInvitations = NewCollection("console-invitations", staffInvitationsMax, func(i *StaffInvitation) string { return foldEmail(i.Email) })

// InviteStaff invites an address to a role, and replaces an earlier invitation of the address, whose link stops working. *Limit when the
// marketplace has as many as it may have.
func (t Tenant) InviteStaff(ctx context.Context, email string, role ConsoleRole) (StaffInvitation, error) {
	it := StaffInvitation{Email: email, Role: role, Token: rand.Text(), ExpiresMillis: t.invitationExpiry()}
	known, err := staffInvitations.ByName(t, foldEmail(email))
	switch {
	case err == nil:
		return staffInvitations.Change(ctx, t, known.ID, func(i *StaffInvitation) error {
			i.Email, i.Role, i.Token, i.ExpiresMillis = it.Email, it.Role, it.Token, it.ExpiresMillis
			return nil
		})
	case !errors.Is(err, ErrNotFound):
		return it, err
	}
	err = staffInvitations.Create(ctx, t, &it)
	return it, err
}

// StaffInvitations lists a page of the invitations, newest first.
func (t Tenant) StaffInvitations(p Page) ([]StaffInvitation, bool, error) {
	return staffInvitations.List(t, p, nil)
}

// RevokeStaffInvitation deletes an invitation; its link stops working. ErrNotFound for an unknown one.
func (t Tenant) RevokeStaffInvitation(ctx context.Context, id ids.UUID) error {
	return staffInvitations.Delete(ctx, t, id)
}

// staffInvited is Invited for a StaffInvitation, which is deleted when it is accepted.
func (p People) staffInvited(t Tenant, id ids.UUID, secret string) (Invited, error) {
	in := staffInvitations.in
	at, err := in.find(t, keyOfID(id))
	if err != nil || subtle.ConstantTimeCompare([]byte(secret), []byte(at.item.Token)) != 1 || at.item.ExpiresMillis <= t.now() {
		return Invited{}, errors.Join(err, ErrNotFound)
	}
	return Invited{at.item.Email, ConsoleAccess{Marketplace: t.marketplace, Role: at.item.Role}, func(ids.UUID) ([]command.Record, error) {
		l := in.key(&at.item)
		item := in.deletion(t, in.itemKind, l.position())
		item.Expect = at.version
		return []command.Record{item, in.deletion(t, in.indexKind, keyOfID(l.id)), in.deletion(t, in.indexKind, keyOfName(l.name))}, nil
	}}, nil
}
