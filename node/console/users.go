package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// usersListed is how many users and invitations of a marketplace are listed. BOUND: an answer of about a megabyte.
const usersListed = 2_000

// User is a user of the console with a right in the marketplace of the request.
type User struct {
	ID        string            `json:"id"`
	Email     string            `json:"email"`
	Name      string            `json:"name"`
	Role      store.ConsoleRole `json:"role"`
	VendorID  string            `json:"vendorId,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
	Sessions  []OpenSession     `json:"sessions"`
	// SecondFactor says whether the user is asked for a code after the password.
	SecondFactor bool `json:"secondFactor"`
}

// OpenSession is a login session in lists.
type OpenSession struct {
	SignedInAt time.Time `json:"signedInAt"`
	SeenAt     time.Time `json:"seenAt"` // Of the last request, to a minute.
	Address    string    `json:"address"`
	UserAgent  string    `json:"userAgent"`
}

// StaffInvitation is an invitation of a person to a role that is bound to no vendor.
type StaffInvitation struct {
	ID        string            `json:"id"`
	Email     string            `json:"email"`
	Role      store.ConsoleRole `json:"role"`
	AcceptURL string            `json:"acceptUrl"`
	ExpiresAt time.Time         `json:"expiresAt"`
}

// Users is the answer with the people of a marketplace.
type Users struct {
	Users       []User            `json:"users"`
	Invitations []StaffInvitation `json:"invitations"`
}

// admin returns who sent a request, when it is an admin of the marketplace.
func (h handlers) admin(r *http.Request) (Identity, error) {
	who, code := h.Identify(r)
	if code == apierr.OK && who.Access.Role != store.RoleAdmin {
		code = apierr.ForbiddenRole
	}
	if code != apierr.OK {
		return who, apierr.New(code, "")
	}
	return who, nil
}

// users lists who has a right in the marketplace, and who is invited.
func (h handlers) users(_ http.ResponseWriter, r *http.Request) (any, error) {
	who, err := h.admin(r)
	if err != nil {
		return nil, err
	}
	in := who.Access.Marketplace
	people := h.people(r.Context())
	found, _, err := people.Users(store.Page{Limit: usersListed}, func(u *store.ConsoleUser) bool {
		return slices.ContainsFunc(u.Access, func(a store.ConsoleAccess) bool { return a.Marketplace == in })
	})
	if err != nil {
		return nil, err
	}
	out := Users{[]User{}, []StaffInvitation{}}
	for i := range found {
		sessions, err := people.LoginSessions(&found[i])
		if err != nil {
			return nil, err
		}
		_, err = people.SecondFactor(found[i].ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		for _, a := range found[i].Access {
			if a.Marketplace == in {
				out.Users = append(out.Users, userOf(&found[i], a, sessions, err == nil))
			}
		}
	}
	invited, _, err := h.deps.Store.Tenant(in).StaffInvitations(store.Page{Limit: usersListed})
	for i := range invited {
		out.Invitations = append(out.Invitations, h.invitationOf(&invited[i]))
	}
	return out, err
}

func userOf(u *store.ConsoleUser, a store.ConsoleAccess, sessions []store.LoginSession, factor bool) User {
	out := User{u.ID.String(), u.Email, u.Name, a.Role, a.Vendor, time.UnixMilli(u.CreatedMillis).UTC(), []OpenSession{}, factor}
	for _, s := range sessions {
		out.Sessions = append(out.Sessions, OpenSession{
			time.UnixMilli(s.CreatedMillis).UTC(), time.UnixMilli(s.SeenMillis).UTC(), s.Address, s.Agent,
		})
	}
	return out
}

func (h handlers) invitationOf(i *store.StaffInvitation) StaffInvitation {
	return StaffInvitation{
		i.ID.String(), i.Email, i.Role, strings.TrimRight(h.config.PublicURL, "/") + store.AcceptPath + i.AcceptToken(),
		time.UnixMilli(i.ExpiresMillis).UTC(),
	}
}

// UserInvitation is the body of an invitation.
type UserInvitation struct {
	Email string            `json:"email"`
	Role  store.ConsoleRole `json:"role"`
}

// RoleChange is the body of a change of a role.
type RoleChange struct {
	Role store.ConsoleRole `json:"role"`
}

func checkStaffRole(role store.ConsoleRole) error {
	if !slices.Contains(staff, role) {
		return bad("role", "must be admin, operator or analyst; people of vendors are invited with createInvitations")
	}
	return nil
}

// invite invites a person to a role in the marketplace.
func (h handlers) invite(_ http.ResponseWriter, r *http.Request) (any, error) {
	who, err := h.admin(r)
	if err != nil {
		return nil, err
	}
	in, err := read[UserInvitation](r)
	if err := errors.Join(err, CheckEmail(in.Email), checkStaffRole(in.Role)); err != nil {
		return nil, err
	}
	it, err := auditedIn(h, r, &who.User, who.Access.Marketplace, "inviteConsoleUser", func(ctx context.Context) (store.StaffInvitation, error) {
		return h.deps.Store.Tenant(who.Access.Marketplace).InviteStaff(ctx, in.Email, in.Role)
	})
	if err != nil {
		return nil, err
	}
	return h.invitationOf(&it), nil
}

// revoke deletes an invitation.
func (h handlers) revoke(_ http.ResponseWriter, r *http.Request) (any, error) {
	who, err := h.admin(r)
	if err != nil {
		return nil, err
	}
	id, err := ids.Parse(r.PathValue("invitation_id"))
	if err != nil {
		return nil, store.ErrNotFound
	}
	return auditedIn(h, r, &who.User, who.Access.Marketplace, "revokeConsoleInvitation", func(ctx context.Context) (any, error) {
		return nil, h.deps.Store.Tenant(who.Access.Marketplace).RevokeStaffInvitation(ctx, id)
	})
}

// changeRole changes the role of a user in the marketplace; all sessions of the user end.
func (h handlers) changeRole(_ http.ResponseWriter, r *http.Request) (any, error) {
	in, err := read[RoleChange](r)
	if err == nil {
		err = checkStaffRole(in.Role)
	}
	if err != nil {
		return nil, err
	}
	return h.changeAccess(r, "changeConsoleRole", func(u *store.ConsoleUser, marketplace uint16) error {
		at := slices.IndexFunc(u.Access, func(a store.ConsoleAccess) bool { return a.Marketplace == marketplace && !a.Role.OfVendor() })
		if at < 0 {
			return store.ErrNotFound
		}
		u.Access[at].Role = in.Role
		return nil
	})
}

// removeUser takes all rights in the marketplace from a user, whose sessions end.
func (h handlers) removeUser(_ http.ResponseWriter, r *http.Request) (any, error) {
	return h.changeAccess(r, "removeConsoleUser", func(u *store.ConsoleUser, marketplace uint16) error {
		before := len(u.Access)
		u.Access = slices.DeleteFunc(u.Access, func(a store.ConsoleAccess) bool { return a.Marketplace == marketplace })
		if len(u.Access) == before {
			return store.ErrNotFound
		}
		return nil
	})
}

// changeAccess changes the rights of the user in the path, in the marketplace of an admin.
func (h handlers) changeAccess(r *http.Request, operation string, change func(u *store.ConsoleUser, marketplace uint16) error) (any, error) {
	return h.changeUser(r, operation, func(ctx context.Context, who *Identity, u *store.ConsoleUser) error {
		id := u.ID
		now, err := h.people(ctx).Change(ctx, id, func(u *store.ConsoleUser) error {
			u.Epoch++
			return change(u, who.Access.Marketplace)
		})
		if err == nil && len(now.Access) == 0 { // Without any right the account is of no use, and its address may be invited again.
			err = h.people(ctx).Remove(ctx, id)
		}
		return err
	})
}

// changeUser makes a change of the user in the path, who has a right in the marketplace of the admin that sent the request.
func (h handlers) changeUser(
	r *http.Request, operation string, change func(ctx context.Context, who *Identity, u *store.ConsoleUser) error,
) (any, error) {
	who, err := h.admin(r)
	if err != nil {
		return nil, err
	}
	id, err := ids.Parse(r.PathValue("user_id"))
	if err != nil {
		return nil, store.ErrNotFound
	}
	u, err := h.people(r.Context()).User(id)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(u.Access, func(a store.ConsoleAccess) bool { return a.Marketplace == who.Access.Marketplace }) {
		return nil, store.ErrNotFound
	}
	return auditedIn(h, r, &who.User, who.Access.Marketplace, operation, func(ctx context.Context) (any, error) {
		return nil, change(ctx, &who, &u)
	})
}
