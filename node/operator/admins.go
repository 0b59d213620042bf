package operator

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Admin is an admin of the console.
type Admin struct {
	Email         string `json:"email"`
	Name          string `json:"name"`
	CreatedMillis int64  `json:"createdMs"`
}

// AdminRequest asks for a new admin. Whoever has the address already becomes one and gets the password.
type AdminRequest struct {
	Email    string `json:"email"`
	Name     string `json:"name"`
	Password string `json:"password"`
}

// PasswordRequest asks for another password of a user of the console.
type PasswordRequest struct {
	Password string `json:"password"`
}

// ErrNoUser means that nobody has the address of a request.
var ErrNoUser = errors.New("no user of the console has this address")

// Admins manages the admins of the console, who are those of the first marketplace. ErrNoUser is returned for an unknown address, and
// an error that is Refused for what the rules of the console forbid.
type Admins interface {
	CreateAdmin(ctx context.Context, r AdminRequest) error
	ListAdmins(ctx context.Context) ([]Admin, error)
	// RemoveAdmin removes a user of the console, who loses all rights.
	RemoveAdmin(ctx context.Context, email string) error
	// ResetPassword sets the password of any user of the console and ends the user's sessions.
	ResetPassword(ctx context.Context, email string, r PasswordRequest) error
}

const adminsPath = "/operator/v1/admins"

func (h localHandler) createAdmin(r *http.Request) (any, error) {
	a, err := read[AdminRequest](r)
	if err != nil {
		return nil, err
	}
	return struct{}{}, h.local.CreateAdmin(r.Context(), a)
}

func (h localHandler) listAdmins(r *http.Request) (any, error) {
	return h.local.ListAdmins(r.Context())
}

func (h localHandler) removeAdmin(r *http.Request) (any, error) {
	return struct{}{}, h.local.RemoveAdmin(r.Context(), r.PathValue("email"))
}

func (h localHandler) resetPassword(r *http.Request) (any, error) {
	p, err := read[PasswordRequest](r)
	if err != nil {
		return nil, err
	}
	return struct{}{}, h.local.ResetPassword(r.Context(), r.PathValue("email"), p)
}

// CreateAdmin makes an admin.
func (c LocalClient) CreateAdmin(ctx context.Context, r AdminRequest) error {
	return c.call(ctx, http.MethodPost, adminsPath, "", r, &struct{}{})
}

// ListAdmins lists the admins.
func (c LocalClient) ListAdmins(ctx context.Context) (all []Admin, err error) {
	return all, c.call(ctx, http.MethodGet, adminsPath, "", nil, &all)
}

// RemoveAdmin removes a user of the console.
func (c LocalClient) RemoveAdmin(ctx context.Context, email string) error {
	return c.call(ctx, http.MethodDelete, adminsPath+"/"+url.PathEscape(email), "", nil, &struct{}{})
}

// ResetPassword sets a user's password.
func (c LocalClient) ResetPassword(ctx context.Context, email string, r PasswordRequest) error {
	return c.call(ctx, http.MethodPost, adminsPath+"/"+url.PathEscape(email)+"/password", "", r, &struct{}{})
}
