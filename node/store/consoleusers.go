package store

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// ConsoleRole is what a console user may do in a marketplace. node/console has the operations of each role.
type ConsoleRole string

// The roles. A vendor role sees what belongs to its vendor and nothing else.
const (
	RoleAdmin         ConsoleRole = "admin"
	RoleOperator      ConsoleRole = "operator"
	RoleAnalyst       ConsoleRole = "analyst"
	RoleVendorAdmin   ConsoleRole = "vendorAdmin"
	RoleVendorAnalyst ConsoleRole = "vendorAnalyst"
)

// ConsoleRoles are all roles.
var ConsoleRoles = []ConsoleRole{RoleAdmin, RoleOperator, RoleAnalyst, RoleVendorAdmin, RoleVendorAnalyst}

// OfVendor reports whether the role is bound to a vendor.
func (r ConsoleRole) OfVendor() bool { return r == RoleVendorAdmin || r == RoleVendorAnalyst }

// ConsoleAccess is the right of a console user to act in a marketplace. Vendor is the id of the vendor of a vendor role, and empty
// for the other roles.
type ConsoleAccess struct {
	Marketplace uint16
	Role        ConsoleRole
	Vendor      string
}

// ConsoleAccessMax is how many rights a console user may have. BOUND: they are in one record, which every request reads.
const ConsoleAccessMax = 100

// ConsoleUser is a person who signs in to the console. There is one for an address in the whole cluster, because people sign in
// before they choose a marketplace.
type ConsoleUser struct {
	ID           ids.UUID
	Email        string // Unique, compared without case.
	Name         string
	PasswordHash string // In PHC form; node/login makes and checks it. Empty: nobody can sign in with a password.
	// Epoch grows when the password or the access changes. A login session of an older epoch has ended.
	Epoch         uint64
	Access        []ConsoleAccess
	CreatedMillis int64
	UpdatedMillis int64
}

// ListPosition is the user's position in lists.
func (u *ConsoleUser) ListPosition() string { return positionOf(u.CreatedMillis, u.ID) }

// IsAdmin reports whether the user is an admin of the first marketplace, and so of the cluster.
func (u *ConsoleUser) IsAdmin() bool {
	return slices.Contains(u.Access, ConsoleAccess{Marketplace: OperatorMarketplace, Role: RoleAdmin})
}

var consoleUsers = collection[ConsoleUser]{itemKind: command.RecordConsoleUser, indexKind: command.RecordConsoleUserIndex, key: func(u *ConsoleUser) itemKey {
	return itemKey{u.ID, u.CreatedMillis, foldEmail(u.Email)}
}}

// People is the store of the console's users and their login sessions. They belong to the cluster and are kept with its first
// marketplace, like everything of its operator.
type People struct{ t Tenant }

// People returns the store of the console's users. Reads are those of this node's state.
func (s *Store) People() People { return People{s.Tenant(OperatorMarketplace)} }

// Current returns the store with reads that see every write that any node answered before them; until ctx ends.
func (p People) Current(ctx context.Context) People {
	return People{p.t.WithSession(NewSession(ctx, false))}
}

// ErrLastAdmin is returned for a change that would leave the cluster without an admin.
var ErrLastAdmin = errors.New("this is the last admin")

// adminsKey is the id of the record that counts the admins. Index records of users begin with another letter.
//
// INVARIANT: every command that makes or unmakes an admin also writes this record, against the version that it read. So two such
// changes at the same moment cannot both see that another admin is left, and two first admins cannot both be made. The record is
// never deleted: once there was an admin, no link for the first one is valid again.
const adminsKey = "admins"

// admins returns the count and the version of its record; the version is 0 while there never was an admin.
func (p People) admins(b shard.Queries) (count, version uint64) {
	r, found := b.Record(command.RecordConsoleUserIndex, p.t.marketplace, adminsKey)
	if !found {
		return 0, 0
	}
	return binary.BigEndian.Uint64(r.Value), r.Version
}

func (p People) adminsRecord(count, version uint64) command.Record {
	return command.Record{
		Kind: command.RecordConsoleUserIndex, Marketplace: p.t.marketplace, ID: adminsKey, Expect: version,
		Value: binary.BigEndian.AppendUint64(nil, count),
	}
}

// countAdmins returns the record that a change of a user's access needs: none while it is as much an admin as before.
func (p People) countAdmins(before, after bool) ([]command.Record, error) {
	if before == after {
		return nil, nil
	}
	type counted struct{ count, version uint64 }
	now, err := read(p.t, p.t.store.Groups.Meta(), func(b shard.Queries) (c counted) {
		c.count, c.version = p.admins(b)
		return c
	})
	switch {
	case err != nil:
		return nil, err
	case after:
		return []command.Record{p.adminsRecord(now.count+1, now.version)}, nil
	case now.count <= 1:
		return nil, ErrLastAdmin
	}
	return []command.Record{p.adminsRecord(now.count-1, now.version)}, nil
}

// HasAdmin reports whether there is, or ever was, an admin.
func (p People) HasAdmin() (bool, error) {
	return read(p.t, p.t.store.Groups.Meta(), func(b shard.Queries) bool {
		_, version := p.admins(b)
		return version != 0
	})
}

// Create stores a new user and fills in id and times. ErrAlreadyExists when the address is taken.
func (p People) Create(ctx context.Context, u ConsoleUser) (ConsoleUser, error) {
	return p.create(ctx, u, func() ([]command.Record, error) { return p.countAdmins(false, u.IsAdmin()) })
}

// CreateFirst stores the first admin. ErrAlreadyExists when there was one before.
func (p People) CreateFirst(ctx context.Context, u ConsoleUser) (ConsoleUser, error) {
	return p.create(ctx, u, func() ([]command.Record, error) {
		if has, err := p.HasAdmin(); err != nil || has {
			return nil, errors.Join(err, ErrAlreadyExists)
		}
		return []command.Record{p.adminsRecord(1, 0)}, nil
	})
}

func (p People) create(ctx context.Context, u ConsoleUser, more func() ([]command.Record, error)) (ConsoleUser, error) {
	u.ID, u.Epoch, u.CreatedMillis = p.t.mint(ctx, 0), 1, p.t.now() // A removed user reads as epoch 0.
	u.UpdatedMillis = u.CreatedMillis
	err := p.t.retry(ctx, func() ([]command.Record, error) {
		if _, err := consoleUsers.find(p.t, keyOfName(foldEmail(u.Email))); !errors.Is(err, ErrNotFound) {
			return nil, errors.Join(err, ErrAlreadyExists)
		}
		records, err := more()
		return append(consoleUsers.newRecords(p.t, &u), records...), err
	}, command.AlreadyExists)
	return u, err
}

// User returns the user with an id, or ErrNotFound.
func (p People) User(id ids.UUID) (ConsoleUser, error) {
	at, err := consoleUsers.find(p.t, keyOfID(id))
	return at.item, err
}

// UserByEmail returns the user with an address, compared without case, or ErrNotFound.
func (p People) UserByEmail(email string) (ConsoleUser, error) {
	at, err := consoleUsers.find(p.t, keyOfName(foldEmail(strings.TrimSpace(email))))
	return at.item, err
}

// Users lists the users for which keep returns true, newest first.
func (p People) Users(page Page, keep func(*ConsoleUser) bool) ([]ConsoleUser, bool, error) {
	return consoleUsers.list(p.t, page, keep)
}

// Change rewrites a user by fn, and returns an error of fn without writing. fn may run several times. All login sessions of the user
// end when fn raises the epoch. ErrNotFound, ErrAlreadyExists when a new address is taken, or ErrLastAdmin.
func (p People) Change(ctx context.Context, id ids.UUID, fn func(*ConsoleUser) error) (ConsoleUser, error) {
	return p.changeWith(ctx, id, fn, nil)
}

// changeWith is Change with further records in the same command.
func (p People) changeWith(ctx context.Context, id ids.UUID, fn func(*ConsoleUser) error, more func(*ConsoleUser) []command.Record) (ConsoleUser, error) {
	return consoleUsers.update(ctx, p.t, keyOfID(id), func(u *ConsoleUser) ([]command.Record, error) {
		before := u.IsAdmin()
		u.Access = slices.Clone(u.Access)
		if err := fn(u); err != nil {
			return nil, err
		}
		u.UpdatedMillis = p.t.now()
		records, err := p.countAdmins(before, u.IsAdmin())
		if more != nil {
			records = append(records, more(u)...)
		}
		return records, err
	})
}

// Remove deletes a user; its login sessions end. ErrNotFound, or ErrLastAdmin.
func (p People) Remove(ctx context.Context, id ids.UUID) error {
	return p.t.retry(ctx, func() ([]command.Record, error) {
		at, err := consoleUsers.find(p.t, keyOfID(id))
		if err != nil {
			return nil, err
		}
		records, err := p.countAdmins(at.item.IsAdmin(), false)
		if err != nil {
			return nil, err
		}
		l := consoleUsers.key(&at.item)
		item := consoleUsers.deletion(p.t, consoleUsers.itemKind, l.position())
		item.Expect = at.version
		return append(records, item,
			consoleUsers.deletion(p.t, consoleUsers.indexKind, keyOfID(id)),
			consoleUsers.deletion(p.t, consoleUsers.indexKind, keyOfName(l.name)),
			p.factorDeletion(id, command.Any)), nil
	}, command.NotFound)
}
