package resource

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// schemaAreas are the nouns that begin the names of types in a package with several resources, and the areas that the schemas of
// these types have in the description: creative.PlacementBody is placement.Body there. Clients are generated from the description,
// so its names stay the same when packages are merged or renamed. The schemas of other packages are named after the package.
var schemaAreas = map[string]map[string]string{
	"admin": {
		"APIKey": "apikey", "Audit": "audit", "Invitation": "invitation", "Marketplace": "marketplace", "Settings": "settings",
		"User": "user", "Webhook": "webhook",
	},
	"audience": {"Offsite": "offsite", "Segment": "segment"},
	"campaign": {"Agency": "agency", "Dialog": "modal", "Explain": "explain", "Forecast": "forecast"},
	"creative": {"Asset": "asset", "Placement": "placement", "Slot": "slot", "Template": "template"},
}

// schemaNames are the names in the description that do not follow from schemaAreas.
var schemaNames = map[string]string{ //nolint:gosec // Names of types.
	"admin.APIKey":              "apikey.Key",
	"admin.Invite":              "invitation.Invite",
	"admin.Invitations":         "invitation.Invitations",
	"admin.NewAPIKey":           "apikey.NewKey",
	"campaign.RestrictionTypes": "restriction.Types",
}

// publishedName is the name of a type's schema in the description.
func publishedName(pkg, name string) string {
	if published := schemaNames[pkg+"."+name]; published != "" {
		return published
	}
	for noun, area := range schemaAreas[pkg] {
		rest, found := strings.CutPrefix(name, noun)
		switch next, _ := utf8.DecodeRuneInString(rest); {
		case found && rest == "":
			return area + "." + name
		case found && unicode.IsUpper(next):
			return area + "." + rest
		}
	}
	return pkg + "." + name
}
