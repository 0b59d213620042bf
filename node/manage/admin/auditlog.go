package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// RegisterAuditLog mounts the operation.
func RegisterAuditLog(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "listAuditLog", Method: http.MethodGet, Path: "/public/v1/audit-service/entries", Tag: "Audit",
		Doc: "List the changes that were made through this API, newest first: of 30 days, at most 100,000.",
	}, listAuditEntries)
}

// AuditEntry is one change.
type AuditEntry struct {
	ID        string          `json:"id" format:"uuid"`
	At        resource.Time   `json:"at"`
	KeyID     string          `json:"keyId" doc:"The API key that requested the change; empty for a user of the console."`
	UserID    string          `json:"userId,omitempty" doc:"The user of the console who made the change."`
	UserEmail string          `json:"userEmail,omitempty" doc:"The address of that user at the time."`
	Operation string          `json:"operation" doc:"The operation's id in this description."`
	Method    string          `json:"method"`
	Path      string          `json:"path" doc:"Path with its query; cut after 2 KiB."`
	Status    int             `json:"status" doc:"HTTP status of the answer; that of success if its node stopped before it answered. While a node of an older version is in the cluster it may be 0: then the request runs, or its node stopped, and the change may have been made."`
	RequestID string          `json:"requestId,omitempty" doc:"The X-Request-Id of the answer."`
	Before    json.RawMessage `json:"before" doc:"The resource before the change, as GET on the same path answered it; null where there is no such operation. Secrets and parts of more than 4 KiB are left out."`
	After     json.RawMessage `json:"after" doc:"The body of the answer; null after a deletion, and if its node stopped before it recorded the answer."`
}

// AuditList is one page of the log.
type AuditList struct {
	Entries []AuditEntry `json:"entries"`
	resource.Page
}

type (
	auditListInput struct {
		KeyID     string `query:"key_id" maxLength:"64"`
		Operation string `query:"operation" maxLength:"64"`
		Limit     int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage  string `query:"next_page"`
	}
	auditListOutput struct{ Body AuditList }
)

func listAuditEntries(ctx context.Context, in *auditListInput) (*auditListOutput, error) {
	st := resource.Tenant(ctx)
	keep := func(e *store.AuditEntry) bool {
		return (in.KeyID == "" || e.KeyID == in.KeyID) && (in.Operation == "" || e.Operation == in.Operation)
	}
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listAuditLog", in.KeyID, in.Operation)
	page, end, err := resource.List(cursors, in.NextPage, in.Limit, func(e store.AuditEntry) string { return e.ListPosition() },
		func(p store.Page) ([]store.AuditEntry, bool, error) { return st.AuditLog(ctx, p, keep) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := make([]AuditEntry, len(page))
	for i := range page {
		e := &page[i]
		all[i] = AuditEntry{
			ID: e.ID.String(), At: resource.Time(e.Millis), KeyID: e.KeyID, UserID: e.UserID, UserEmail: e.UserEmail, Operation: e.Operation, Method: e.Method, Path: e.Path,
			Status: e.Status, RequestID: e.RequestID, Before: e.Before, After: e.After,
		}
	}
	return &auditListOutput{AuditList{all, end}}, nil
}
