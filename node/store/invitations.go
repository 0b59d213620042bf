package store

import (
	"context"
	"crypto/rand"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// invitationExpiry is when an invitation that is made or renewed now expires, in Unix milliseconds.
func (t Tenant) invitationExpiry() int64 { return t.now() + t.store.InvitationTTL.Milliseconds() }

// InvitationStatus is the state of an invitation.
type InvitationStatus string

// The states. Accepted and expired are final.
const (
	InvitationPending  InvitationStatus = "pending"
	InvitationAccepted InvitationStatus = "accepted"
	InvitationExpired  InvitationStatus = "expired"
)

// Invite is a request that a person work for a vendor.
type Invite struct {
	VendorID string
	Email    string
	Role     string // vendor_admin or vendor_analyst.
}

// Invitation is a stored invite. A vendor and an email address, compared without case, have at most one pending invitation.
type Invitation struct {
	ID ids.UUID
	Invite
	Token         string // The secret in the link. Its holder can accept the invitation.
	Accepted      bool
	Joined        bool `json:",omitempty"` // The link was used, so it does not work again.
	ExpiresMillis int64
	CreatedMillis int64
	UpdatedMillis int64
	Mail          *MailState `json:",omitempty"` // Nil when no email was sent or will be sent.
}

// ListPosition is the invitation's position in lists.
func (i *Invitation) ListPosition() string { return positionOf(i.CreatedMillis, i.ID) }

// Status is the state at a time.
func (i *Invitation) Status(nowMillis int64) InvitationStatus {
	switch {
	case i.Accepted:
		return InvitationAccepted
	case i.ExpiresMillis <= nowMillis:
		return InvitationExpired
	default:
		return InvitationPending
	}
}

// name is the unique name of an invite. It is unambiguous because an email address contains no line feed.
func (i *Invite) name() string { return foldEmail(i.Email) + "\n" + i.VendorID }

var invitations = collection[Invitation]{itemKind: command.RecordInvitation, indexKind: command.RecordInvitationIndex, key: func(i *Invitation) itemKey {
	return itemKey{i.ID, i.CreatedMillis, i.name()}
}}

// Invite stores invitations, all or nothing, and returns them in the order in which they were first named. A pending invitation is
// renewed under its id and keeps its link. If the user has the vendor already, the invitation is accepted. An expired one stays in
// the list, and a new one replaces it.
func (t Tenant) Invite(ctx context.Context, invites []Invite) ([]Invitation, error) {
	var all []Invitation
	row := t.mintSorted(ctx, len(invites))
	err := t.retry(ctx, func() ([]command.Record, error) {
		all = all[:0]
		return read(t, t.store.Groups.Meta(), func(b shard.Queries) (records []command.Record) {
			seen := make(map[string]bool, len(invites))
			for i := range invites {
				if name := invites[i].name(); !seen[name] {
					seen[name] = true
					invitation, written := t.invite(b, row[i], invites[i])
					all, records = append(all, invitation), append(records, written...)
				}
			}
			return records
		})
	}, command.AlreadyExists, command.NotFound)
	return all, err
}

// invite returns what an invite becomes, and the records for it. A new invitation gets the given id.
func (t Tenant) invite(b shard.Queries, id ids.UUID, x Invite) (Invitation, []command.Record) {
	now, has := t.now(), hasVendor(b, t, x.Email, x.VendorID)
	at, known := invitations.lookup(b, t, keyOfName(x.name()))
	it, status := at.item, at.item.Status(now)
	switch {
	case known && status == InvitationAccepted && has:
		return it, nil
	case known && status == InvitationPending:
		it.Invite, it.UpdatedMillis = x, now
		it.Accepted, it.ExpiresMillis = has, t.invitationExpiry()
		email := t.queueMail(&it)
		return it, append(email, invitations.record(t, &it, at.version))
	}
	it = Invitation{
		ID: id, Invite: x, Token: rand.Text(), Accepted: has,
		ExpiresMillis: t.invitationExpiry(), CreatedMillis: now, UpdatedMillis: now,
	}
	email := t.queueMail(&it)
	records := invitations.newRecords(t, &it)
	if known {
		records[2].Expect = at.indexVersion // The name's index record leads to the new invitation from now on.
	}
	return it, append(records, email...)
}

// Invitations lists the invitations for which keep returns true, newest first.
func (t Tenant) Invitations(_ context.Context, p Page, keep func(*Invitation) bool) ([]Invitation, bool, error) {
	return invitations.list(t, p, keep)
}

// RevokeInvitation deletes an invitation in any state, so its link stops working. ErrNotFound for an unknown one.
func (t Tenant) RevokeInvitation(ctx context.Context, id ids.UUID) error {
	return invitations.remove(ctx, t, id)
}
