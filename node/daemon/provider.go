package daemon

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/node/console"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/store"
)

// provider returns the configured identity provider, nil without one. It asks the provider for nothing.
func (n *node) provider(publicURL string) (*login.Provider, console.ProviderAccess, error) {
	o := n.cfg.OIDC
	if o.Issuer == "" {
		return nil, console.ProviderAccess{}, nil
	}
	secret := o.ClientSecret.Reveal()
	if o.ClientSecretFile != "" {
		text, err := os.ReadFile(o.ClientSecretFile)
		if err != nil {
			return nil, console.ProviderAccess{}, fmt.Errorf("oidc.client_secret_file: %w", err)
		}
		secret, _, _ = strings.Cut(string(text), "\n")
		secret = strings.TrimSuffix(secret, "\r")
	}
	access := console.ProviderAccess{Name: o.Name, Claim: o.RoleClaim}
	if u, err := url.Parse(o.Issuer); err == nil {
		access.Name = cmp.Or(access.Name, u.Hostname())
	}
	for _, r := range o.Roles {
		value, role, _ := strings.Cut(r, "=")
		access.Roles = append(access.Roles, console.ProviderRole{Value: value, Role: store.ConsoleRole(role)})
	}
	return login.NewProvider(login.ProviderConfig{
		Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: secret,
		RedirectURL: strings.TrimRight(publicURL, "/") + console.ProviderCallback,
	}, time.Now), access, nil
}
