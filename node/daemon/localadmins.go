package daemon

import (
	"context"
	"errors"
	"net/http"

	"github.com/gavel-ads/gavel/node/operator"
	"github.com/gavel-ads/gavel/node/store"
)

// loggedAdmin is what the audit log shows of a change of an admin.
type loggedAdmin struct {
	Email string `json:"email"`
}

// CreateAdmin makes an admin of the console.
func (k localKeys) CreateAdmin(ctx context.Context, r operator.AdminRequest) error {
	return k.changed(ctx, "createAdmin", http.MethodPost, r.Email, func(ctx context.Context) error {
		return k.console.CreateAdmin(ctx, r.Email, r.Name, r.Password)
	})
}

// ListAdmins lists the admins of the console, newest first.
func (k localKeys) ListAdmins(ctx context.Context) ([]operator.Admin, error) {
	all, err := k.console.Admins(ctx)
	admins := make([]operator.Admin, len(all))
	for i := range all {
		admins[i] = operator.Admin{Email: all[i].Email, Name: all[i].Name, CreatedMillis: all[i].CreatedMillis}
	}
	return admins, err
}

// RemoveAdmin removes a user of the console.
func (k localKeys) RemoveAdmin(ctx context.Context, email string) error {
	return k.changed(ctx, "removeAdmin", http.MethodDelete, email, func(ctx context.Context) error {
		return k.console.Remove(ctx, email)
	})
}

// ResetPassword sets the password of a user of the console.
func (k localKeys) ResetPassword(ctx context.Context, email string, r operator.PasswordRequest) error {
	return k.changed(ctx, "resetPassword", http.MethodPost, email, func(ctx context.Context) error {
		return k.console.ResetPassword(ctx, email, r.Password)
	})
}

// changed makes a change of the console's users with an entry in the audit log of the first marketplace.
func (k localKeys) changed(ctx context.Context, operation, method, email string, do func(context.Context) error) error {
	err := k.audited(ctx, "", operation, method, func(ctx context.Context, _ store.Tenant) (any, error) {
		return loggedAdmin{email}, do(ctx)
	})
	if errors.Is(err, operator.ErrNoSuch) {
		return operator.ErrNoUser
	}
	return err
}
