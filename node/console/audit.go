package console

import (
	"context"
	"net/http"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
)

// audited makes a change with an entry in the audit log, which names the user who made it; by the address alone when the account is
// made by the same request.
func audited[T any](h handlers, r *http.Request, who *store.ConsoleUser, operation string, do func(context.Context) (T, error)) (T, error) {
	return auditedIn(h, r, who, marketplaceOf(who), operation, do)
}

// auditedIn is audited for a change in a marketplace.
func auditedIn[T any](
	h handlers, r *http.Request, who *store.ConsoleUser, marketplace uint16, operation string, do func(context.Context) (T, error),
) (T, error) {
	id := ""
	if who.ID != (ids.UUID{}) {
		id = who.ID.String()
	}
	entry := store.NewAuditRequest(marketplace, store.AuditEntry{
		Millis: h.deps.Now().UnixMilli(), UserID: id, UserEmail: who.Email,
		Operation: operation, Method: r.Method, Path: r.URL.Path, RequestID: r.Header.Get("X-Request-Id"), Status: http.StatusOK,
	})
	body, err := do(store.WithAudit(r.Context(), entry))
	status := http.StatusOK
	if err != nil {
		status = http.StatusConflict
	}
	if e, write := entry.End(status, nil); write && h.deps.Audit != nil {
		h.deps.Audit(marketplace, e)
	}
	return body, err
}
