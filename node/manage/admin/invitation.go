package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	invitationBase = "/public/v1/invitation-service/invitations"
	invitationTag  = "Invitations"
)

type invitationService struct {
	now       func() time.Time
	publicURL string
}

// RegisterInvitations mounts the operations.
func RegisterInvitations(api huma.API, now func() time.Time) {
	s := invitationService{now: now, publicURL: api.OpenAPI().Servers[0].URL}
	resource.Add(api, resource.Op{
		ID: "createInvitations", Method: http.MethodPost, Path: invitationBase, Tag: invitationTag,
		Doc: "Invite people to vendors. Each gets an email if a mail server is configured; otherwise send each acceptUrl yourself.",
	}, s.create)
	resource.Add(api, resource.Op{ID: "listInvitations", Method: http.MethodGet, Path: invitationBase, Tag: invitationTag, Doc: "List the invitations, newest first."}, s.list)
	resource.Add(api, resource.Op{
		ID: "deleteInvitation", Method: http.MethodDelete, Status: http.StatusNoContent, Path: invitationBase + "/{invitation_id}", Tag: invitationTag,
		Doc: "Revoke an invitation; its link stops working.",
	}, revokeInvitation)
}

// Invite is one invite as the marketplace sends it.
type Invite struct {
	VendorID       string `json:"vendorId" minLength:"1" maxLength:"255" doc:"In the catalog."`
	VendorEmail    string `json:"vendorEmail" maxLength:"255" format:"email" doc:"Compared without case."`
	TargetUserRole string `json:"targetUserRole,omitempty" enum:"vendor_admin,vendor_analyst" doc:"Default vendor_admin; vendor_analyst only reads."`
}

// InvitationBody is a list of new invitations, all or none.
type InvitationBody struct {
	Invites []Invite `json:"invites" minItems:"1" maxItems:"500" doc:"Of invites with the same vendor and address the first counts."`
}

// Invitation is an invitation in answers.
type Invitation struct {
	InvitationID   string          `json:"invitationId" format:"uuid"`
	VendorID       string          `json:"vendorId"`
	VendorEmail    string          `json:"vendorEmail"`
	TargetUserRole string          `json:"targetUserRole" enum:"vendor_admin,vendor_analyst"`
	Status         string          `json:"status" enum:"pending,accepted,expired"`
	AcceptURL      string          `json:"acceptUrl" doc:"The page of the console that accepts; it works once, until expiresAt. Whoever has it can accept."`
	ExpiresAt      resource.Time   `json:"expiresAt"`
	CreatedAt      resource.Time   `json:"createdAt"`
	UpdatedAt      resource.Time   `json:"updatedAt"`
	Mail           *InvitationMail `json:"mail,omitempty" doc:"The email of the invitation; absent if no mail server is configured."`
}

// InvitationMail is the state of an invitation's email.
type InvitationMail struct {
	Status   string `json:"status" enum:"queued,sent,failed"`
	Attempts int    `json:"attempts" doc:"At most 6, over about an hour."`
	Error    string `json:"error,omitempty" doc:"The reason of the last failed attempt."`
}

func mailOf(m *store.MailState) *InvitationMail {
	switch {
	case m == nil:
		return nil
	case m.Sent:
		return &InvitationMail{"sent", m.Attempts, ""}
	case m.Failed:
		return &InvitationMail{"failed", m.Attempts, m.Reason}
	default:
		return &InvitationMail{"queued", m.Attempts, m.Reason}
	}
}

// Invitations are the invitations of a request.
type Invitations struct {
	Invites []Invitation `json:"invites"`
}

// InvitationList is one page of invitations.
type InvitationList struct {
	Invites []Invitation `json:"invites"`
	resource.Page
}

type (
	invitationCreateInput  struct{ Body InvitationBody }
	invitationCreateOutput struct{ Body Invitations }
	invitationListInput    struct {
		VendorID string `query:"vendor_id" minLength:"1" maxLength:"255"`
		Status   string `query:"status" enum:"pending,accepted,expired"`
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	invitationListOutput struct{ Body InvitationList }
)

// OneInvitation names an invitation.
type OneInvitation struct {
	InvitationID string `path:"invitation_id" format:"uuid"`
}

func (s invitationService) create(ctx context.Context, in *invitationCreateInput) (*invitationCreateOutput, error) {
	if err := requireVendors(ctx, in.Body.Invites); err != nil {
		return nil, err
	}
	invites := make([]store.Invite, len(in.Body.Invites))
	for i, x := range in.Body.Invites {
		if x.TargetUserRole == "" {
			x.TargetUserRole = "vendor_admin"
		}
		invites[i] = store.Invite{VendorID: x.VendorID, Email: x.VendorEmail, Role: x.TargetUserRole}
	}
	all, err := resource.Tenant(ctx).Invite(ctx, invites)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &invitationCreateOutput{Invitations{s.answers(all)}}, nil
}

// requireVendors returns a violation for each vendor that is not in the catalog.
func requireVendors(ctx context.Context, invites []Invite) error {
	named := make([]string, len(invites))
	for i := range invites {
		named[i] = invites[i].VendorID
	}
	vendors, _, err := resource.Tenant(ctx).Vendors(ctx, store.Page{Limit: len(named)}, named)
	if err != nil {
		return resource.ErrorOf(err)
	}
	exists := make(map[string]bool, len(vendors))
	for i := range vendors {
		exists[vendors[i].ID] = true
	}
	var found []resource.Violation
	for i, id := range named {
		if !exists[id] {
			found = append(found, resource.At("invalid_vendor", "is not a vendor of the catalog", "body", "invites", i, "vendorId"))
		}
	}
	if len(found) > 0 {
		return resource.Invalid(found...)
	}
	return nil
}

func (s invitationService) list(ctx context.Context, in *invitationListInput) (*invitationListOutput, error) {
	st, now := resource.Tenant(ctx), s.now().UnixMilli()
	if in.VendorID != "" {
		if _, err := st.Vendor(ctx, in.VendorID); err != nil {
			return nil, resource.VendorErrorOf(err)
		}
	}
	keep := func(i *store.Invitation) bool {
		return (in.VendorID == "" || i.VendorID == in.VendorID) && (in.Status == "" || string(i.Status(now)) == in.Status)
	}
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listInvitations", in.VendorID, in.Status)
	all, end, err := resource.List(cursors, in.NextPage, in.Limit,
		func(i store.Invitation) string { return i.ListPosition() },
		func(p store.Page) ([]store.Invitation, bool, error) { return st.Invitations(ctx, p, keep) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &invitationListOutput{InvitationList{s.answers(all), end}}, nil
}

func revokeInvitation(ctx context.Context, in *OneInvitation) (*struct{}, error) {
	return nil, resource.ErrorOf(resource.Tenant(ctx).RevokeInvitation(ctx, resource.ParseUUID(in.InvitationID)))
}

func (s invitationService) answers(all []store.Invitation) []Invitation {
	now := s.now().UnixMilli()
	out := make([]Invitation, len(all))
	for i := range all {
		x := &all[i]
		out[i] = Invitation{
			x.ID.String(), x.VendorID, x.Email, x.Role, string(x.Status(now)), s.publicURL + store.AcceptPath + x.AcceptToken(),
			resource.Time(x.ExpiresMillis), resource.Time(x.CreatedMillis), resource.Time(x.UpdatedMillis),
			mailOf(x.Mail),
		}
	}
	return out
}
