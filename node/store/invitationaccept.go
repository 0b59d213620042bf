package store

import (
	"context"
	"crypto/subtle"
	"errors"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// AcceptToken is what the link of an invitation carries: its id, by which it is found, and its secret.
func (i *Invitation) AcceptToken() string { return i.ID.String() + "." + i.Token }

// The roles of invitations, as the public interface writes them, and those of the console.
var invitedRoles = map[string]ConsoleRole{"vendor_admin": RoleVendorAdmin, "vendor_analyst": RoleVendorAnalyst}

// Invited is what the link of an invitation gives to whoever opens it: a right for an address.
type Invited struct {
	Email  string
	Access ConsoleAccess
	// accepted returns the records by which the invitation ends and takes effect, but for the account. userID is for a new user of a
	// vendor.
	accepted func(userID ids.UUID) ([]command.Record, error)
}

// Invited returns what the token of an invitation gives. ErrNotFound when there is none, when it has expired, or when its link was used:
// the holder of a link must not learn which of these it is.
func (p People) Invited(ctx context.Context, token string) (Invited, error) {
	text, secret, _ := strings.Cut(token, ".")
	id, err := ids.Parse(text)
	if err != nil {
		return Invited{}, ErrNotFound
	}
	all, err := Operator{p.t}.Marketplaces(ctx)
	if err != nil {
		return Invited{}, err
	}
	for i := range all {
		for _, find := range []func(Tenant, ids.UUID, string) (Invited, error){p.vendorInvited, p.staffInvited} {
			if it, err := find(p.tenant(all[i].Ordinal), id, secret); !errors.Is(err, ErrNotFound) {
				return it, err
			}
		}
	}
	return Invited{}, ErrNotFound
}

// vendorInvited is Invited for an invitation of the public interface, whose address becomes a user of the vendor.
func (p People) vendorInvited(t Tenant, id ids.UUID, secret string) (Invited, error) {
	at, err := invitations.find(t, keyOfID(id))
	if err != nil || !at.item.acceptable(secret, t.now()) {
		return Invited{}, errors.Join(err, ErrNotFound)
	}
	it := at.item
	return Invited{it.Email, ConsoleAccess{t.marketplace, invitedRoles[it.Role], it.VendorID}, func(userID ids.UUID) ([]command.Record, error) {
		it.Accepted, it.Joined, it.UpdatedMillis = true, true, t.now()
		member, err := p.joined(t, &it, userID)
		return append(member, invitations.record(t, &it, at.version)), err
	}}, nil
}

// acceptable reports whether a link with the secret works at a time. An invitation whose user got the vendor in another way is
// accepted, and its link still makes the account with which that user signs in.
func (i *Invitation) acceptable(secret string, now int64) bool {
	return subtle.ConstantTimeCompare([]byte(secret), []byte(i.Token)) == 1 && !i.Joined && i.ExpiresMillis > now
}

// tenant is the store of a marketplace in the same session.
func (p People) tenant(marketplace uint16) Tenant {
	return Tenant{store: p.t.store, marketplace: marketplace, session: p.t.session}
}

// ErrForeignAccount is returned when the account of an invitation's address is another one than the caller has proved to own.
var ErrForeignAccount = errors.New("the address has an account of its own")

// Accept accepts an invitation: its address gets the right, and the link stops working; all in one command. u is the new account, or
// the existing one if it has an id. ErrNotFound as for Invited, ErrForeignAccount when another account has the address.
func (p People) Accept(ctx context.Context, token string, u ConsoleUser) (ConsoleUser, error) {
	fresh, userID := p.t.mint(ctx, 0), p.t.mint(ctx, 0)
	var out ConsoleUser
	err := p.t.retry(ctx, func() ([]command.Record, error) {
		it, err := p.Invited(ctx, token)
		if err != nil {
			return nil, err
		}
		records, err := it.accepted(userID)
		if err != nil {
			return nil, err
		}
		account, err := p.withAccess(u, fresh, it.Email, it.Access, &out)
		return append(records, account...), err
	}, command.NotFound, command.AlreadyExists)
	return out, err
}

// joined returns the records that make the invited person a user of the vendor.
func (p People) joined(t Tenant, it *Invitation, id ids.UUID) ([]command.Record, error) {
	at, err := users.find(t, keyOfName(foldEmail(it.Email)))
	now := t.now()
	switch {
	case errors.Is(err, ErrNotFound):
		return users.newRecords(t, &User{ID: id, Email: it.Email, VendorIDs: []string{it.VendorID}, Language: "en", CreatedMillis: now, UpdatedMillis: now}), nil
	case err != nil || slices.Contains(at.item.VendorIDs, it.VendorID):
		return nil, err
	}
	at.item.VendorIDs = append(slices.Clone(at.item.VendorIDs), it.VendorID)
	at.item.UpdatedMillis = now
	return []command.Record{users.record(t, &at.item, at.version)}, nil
}

// withAccess returns the records of an account that gets a right, and the account.
func (p People) withAccess(u ConsoleUser, id ids.UUID, email string, access ConsoleAccess, out *ConsoleUser) ([]command.Record, error) {
	at, err := consoleUsers.find(p.t, keyOfName(foldEmail(email)))
	now := p.t.now()
	switch {
	case errors.Is(err, ErrNotFound) && u.ID == ids.UUID{}:
		u.ID, u.Email, u.Epoch, u.Access, u.CreatedMillis, u.UpdatedMillis = id, email, 1, []ConsoleAccess{access}, now, now
		*out = u
		admins, err := p.countAdmins(false, u.IsAdmin())
		return append(admins, consoleUsers.newRecords(p.t, &u)...), err
	case err == nil && at.item.ID != u.ID, errors.Is(err, ErrNotFound):
		return nil, ErrForeignAccount
	case err != nil:
		return nil, err
	}
	known := at.item
	if err := known.Grant(access); err != nil {
		return nil, err
	}
	known.UpdatedMillis = now
	*out = known
	admins, err := p.countAdmins(at.item.IsAdmin(), known.IsAdmin())
	return append(admins, consoleUsers.record(p.t, &known, at.version)), err
}

// Grant gives the user a right. A right for the same marketplace and vendor is replaced, and then all login sessions end. ErrTooMany
// for more than ConsoleAccessMax.
func (u *ConsoleUser) Grant(access ConsoleAccess) error {
	u.Access = slices.Clone(u.Access)
	for i, a := range u.Access {
		if a.Marketplace != access.Marketplace || a.Vendor != access.Vendor {
			continue
		}
		if a.Role != access.Role {
			u.Access[i] = access
			u.Epoch++
		}
		return nil
	}
	if len(u.Access) == ConsoleAccessMax {
		return ErrTooMany
	}
	u.Access = append(u.Access, access)
	return nil
}
