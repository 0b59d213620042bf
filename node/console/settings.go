package console

import (
	"net/http"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/store"
)

// Setting is an effective setting of this node; a secret is masked.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Settings is the answer with all settings of this node.
type Settings struct {
	Settings []Setting `json:"settings"`
}

// settings answers the settings to admins of the first marketplace: they name paths and addresses of the machine.
func (h handlers) settings(_ http.ResponseWriter, r *http.Request) (any, error) {
	who, code := h.Identify(r)
	if code == apierr.OK && (!who.User.IsAdmin() || who.Access.Role != store.RoleAdmin) {
		code = apierr.ForbiddenRole
	}
	if code != apierr.OK {
		return nil, apierr.New(code, "")
	}
	return Settings{append([]Setting{}, h.config.Settings...)}, nil
}
