package importer

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// schema is what the document of the API says of a value.
type schema struct {
	Ref        string            `json:"$ref"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	MinLength  float64           `json:"minLength"`
	MaxLength  float64           `json:"maxLength"`
	MinItems   float64           `json:"minItems"`
	MaxItems   float64           `json:"maxItems"`
	Minimum    float64           `json:"minimum"`
	Maximum    float64           `json:"maximum"`
	Enum       []any             `json:"enum"`
}

// The columns are the members of the bodies of the API, with their bounds: no member is missing, none is misspelt.
func TestColumnsAreTheMembersOfTheAPI(t *testing.T) {
	content, err := os.ReadFile("../manage/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	resolve := func(s schema) schema {
		if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
			return document.Components.Schemas[name]
		}
		return s
	}
	own := []string{vendorColumn, bidProductsColumn, bidAmountColumn}
	for kind, name := range map[string]string{"catalog": "catalog.ProductBody", "vendors": "catalog.VendorBody", "campaigns": "campaign.Body"} {
		body, ok := document.Components.Schemas[name]
		if !ok {
			t.Fatalf("no schema %s", name)
		}
		for member := range body.Properties {
			if tables[kind].column(member) == nil && !tables[kind].nests(member) && member != "promotionType" { // An alias.
				t.Errorf("%s: no column %s", kind, member)
			}
		}
		for _, c := range tables[kind].columns {
			if slices.Contains(own, c.name) {
				continue
			}
			outer, inner, nested := strings.Cut(c.name, ".")
			s, ok := body.Properties[outer]
			if nested {
				s, ok = resolve(s).Properties[inner]
			}
			if !ok {
				t.Errorf("%s: the API has no %s", kind, c.name)
			}
			least, most := s.MinLength, s.MaxLength
			switch c.kind {
			case list, array:
				least, most = s.MinItems, s.MaxItems
			case integer, decimal:
				least, most = s.Minimum, s.Maximum
			case text:
			default:
				least, most = c.least, c.most // Stated elsewhere.
			}
			if c.name != "walletId" && (least != c.least || most != c.most) {
				t.Errorf("%s: %s is %v to %v, in the API %v to %v", kind, c.name, c.least, c.most, least, most)
			}
			if c.kind == word && len(c.words) != len(s.Enum) {
				t.Errorf("%s: %s has the words %v, in the API %v", kind, c.name, c.words, s.Enum)
			}
			if required := slices.Contains(body.Required, c.name); required != c.required && c.name != "categories" && c.name != bidsColumn {
				t.Errorf("%s: %s is required %t, in the API %t", kind, c.name, c.required, required)
			}
		}
	}
}
