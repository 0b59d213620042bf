package store

import (
	"context"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// User is a person who works for vendors of the marketplace.
type User struct {
	ID            ids.UUID
	Email         string // Unique, compared without case.
	VendorIDs     []string
	GivenName     string
	FamilyName    string
	Language      string
	CreatedMillis int64
	UpdatedMillis int64
}

var users = collection[User]{itemKind: command.RecordUser, indexKind: command.RecordUserIndex, key: func(u *User) itemKey {
	return itemKey{u.ID, u.CreatedMillis, foldEmail(u.Email)}
}}

// foldEmail is an address in the form in which addresses are compared.
func foldEmail(email string) string { return strings.ToLower(email) }

// CreateUser stores a new user and fills in id and times. ErrAlreadyExists when the address is taken.
func (t Tenant) CreateUser(ctx context.Context, u User) (User, error) {
	u.ID = t.mint(ctx, 0)
	u.CreatedMillis = t.now()
	u.UpdatedMillis = u.CreatedMillis
	stored, err := users.add(ctx, t, []User{u})
	if err != nil {
		return User{}, err
	}
	return stored[0], nil
}

// UserByEmail returns the user with an address, compared without case, or ErrNotFound.
func (t Tenant) UserByEmail(_ context.Context, email string) (User, error) {
	at, err := users.find(t, keyOfName(foldEmail(email)))
	return at.item, err
}

// ChangeUser rewrites a user. ErrNotFound, or ErrAlreadyExists when a new address is taken. fn may run several times.
func (t Tenant) ChangeUser(ctx context.Context, id ids.UUID, fn func(*User)) (User, error) {
	return users.change(ctx, t, keyOfID(id), func(u *User) {
		fn(u)
		u.UpdatedMillis = t.now()
	})
}

// DeleteUser removes a user, or answers ErrNotFound.
func (t Tenant) DeleteUser(ctx context.Context, id ids.UUID) error { return users.remove(ctx, t, id) }

// hasVendor reports whether the user with an address works for a vendor.
func hasVendor(b shard.Queries, t Tenant, email, vendorID string) bool {
	u, ok := users.lookup(b, t, keyOfName(foldEmail(email)))
	return ok && slices.Contains(u.item.VendorIDs, vendorID)
}
