package config

import (
	"strings"
	"testing"
)

// An identity provider is reached over https, and what its settings lack is named.
func TestIdentityProvider(t *testing.T) {
	full := "GAVEL_OIDC_ISSUER=https://id.example.com/realm GAVEL_OIDC_CLIENT_ID=gavel"
	for settings, want := range map[string]string{
		"":                                   "",
		full:                                 "",
		full + " GAVEL_OIDC_CLIENT_SECRET=x": "",
		full + " GAVEL_OIDC_ROLE_CLAIM=groups GAVEL_OIDC_ROLES=ops=operator,bi=analyst": "",
		"GAVEL_OIDC_ISSUER=http://127.0.0.1:9000 GAVEL_OIDC_CLIENT_ID=gavel":            "",
		"GAVEL_OIDC_ISSUER=http://localhost GAVEL_OIDC_CLIENT_ID=gavel":                 "",
		"GAVEL_OIDC_ISSUER=http://id.example.com GAVEL_OIDC_CLIENT_ID=gavel":            "oidc.issuer",
		"GAVEL_OIDC_ISSUER=https://u:secret@id.example.com GAVEL_OIDC_CLIENT_ID=gavel":  "oidc.issuer",
		"GAVEL_OIDC_ISSUER=https://id.example.com/?x=1 GAVEL_OIDC_CLIENT_ID=gavel":      "oidc.issuer",
		"GAVEL_OIDC_ISSUER=id.example.com GAVEL_OIDC_CLIENT_ID=gavel":                   "oidc.issuer",
		"GAVEL_OIDC_CLIENT_ID=gavel":                                                    "oidc.issuer",
		"GAVEL_OIDC_ISSUER=https://id.example.com":                                      "oidc.client_id",
		full + " GAVEL_OIDC_CLIENT_SECRET=x GAVEL_OIDC_CLIENT_SECRET_FILE=/y":           "oidc.client_secret_file",
		full + " GAVEL_OIDC_ROLE_CLAIM=groups":                                          "oidc.role_claim",
		full + " GAVEL_OIDC_ROLES=ops=operator":                                         "oidc.role_claim",
		full + " GAVEL_OIDC_ROLE_CLAIM=groups GAVEL_OIDC_ROLES=ops=vendorAdmin":         "oidc.roles",
		full + " GAVEL_OIDC_ROLE_CLAIM=groups GAVEL_OIDC_ROLES=ops=operator,=admin":     "oidc.roles",
	} {
		_, err := load(strings.Fields(settings), nil)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", settings, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want+":") || strings.Contains(err.Error(), "secret@")):
			t.Errorf("%s: %v, want a fault of %s", settings, err, want)
		}
	}
}
