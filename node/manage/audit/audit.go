// Package audit serves the log of all changes that were made through the management API.
package audit

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

// Store is what the log needs of a marketplace's store.
type Store interface {
	AuditLog(ctx context.Context, p store.Page, keep func(*store.AuditEntry) bool) ([]store.AuditEntry, bool, error)
	CursorKey() [32]byte
}

// Register mounts the operation.
func Register(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "listAuditLog", Method: http.MethodGet, Path: "/public/v1/audit-service/entries", Tag: "Audit",
		Doc: "Who changed what, newest first: 30 days, at most 100,000 changes.",
	}, list)
}

// Entry is one change.
type Entry struct {
	ID        string          `json:"id" format:"uuid"`
	At        resource.Time   `json:"at"`
	KeyID     string          `json:"keyId" doc:"Of the key that made the change."`
	Operation string          `json:"operation" doc:"Its id in this description."`
	Method    string          `json:"method"`
	Path      string          `json:"path" doc:"With its query; of more than 2 KiB the beginning."`
	Status    int             `json:"status" doc:"Of the answer. 0 while the request runs, and for good when its node ended before it noted the answer: then the change may have been made."`
	RequestID string          `json:"requestId,omitempty" doc:"The X-Request-Id of the answer."`
	Before    json.RawMessage `json:"before" doc:"What the same path answered before; null where it answers nothing. Secrets are left out, and so is what has more than 4 KiB."`
	After     json.RawMessage `json:"after" doc:"What the change answered; null after a deletion."`
}

// List is one page of the log.
type List struct {
	Entries []Entry `json:"entries"`
	resource.Page
}

type (
	listInput struct {
		KeyID     string `query:"key_id" maxLength:"64"`
		Operation string `query:"operation" maxLength:"64"`
		Limit     int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage  string `query:"next_page"`
	}
	listOutput struct{ Body List }
)

func list(ctx context.Context, in *listInput) (*listOutput, error) {
	st := resource.Tenant[Store](ctx)
	keep := func(e *store.AuditEntry) bool {
		return (in.KeyID == "" || e.KeyID == in.KeyID) && (in.Operation == "" || e.Operation == in.Operation)
	}
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listAuditLog", in.KeyID, in.Operation)
	page, end, err := resource.List(cursors, in.NextPage, in.Limit, func(e store.AuditEntry) string { return e.Place() },
		func(p store.Page) ([]store.AuditEntry, bool, error) { return st.AuditLog(ctx, p, keep) })
	if err != nil {
		return nil, resource.Of(err)
	}
	all := make([]Entry, len(page))
	for i := range page {
		e := &page[i]
		all[i] = Entry{
			ID: e.ID.String(), At: resource.Time(e.Millis), KeyID: e.KeyID, Operation: e.Operation, Method: e.Method, Path: e.Path,
			Status: e.Status, RequestID: e.RequestID, Before: e.Before, After: e.After,
		}
	}
	return &listOutput{List{all, end}}, nil
}
