package manage_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestEveryMemberIsDescribed: a generator writes the descriptions into its types, so no member is without one; and no text of
// members.yaml is for a member that does not exist.
func TestEveryMemberIsDescribed(t *testing.T) {
	spec, err := managetest.New(t).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(spec, &doc); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	var walk func(owner string, v any)
	walk = func(owner string, v any) {
		if list, ok := v.([]any); ok {
			for _, item := range list {
				walk(owner, item)
			}
		}
		s, _ := v.(map[string]any)
		members, _ := s["properties"].(map[string]any)
		for name, p := range members {
			names[name], names[owner+"."+name] = true, true
			if member, ok := p.(map[string]any); ok && (member["description"] == nil || member["description"] == "") {
				t.Errorf("%s.%s has no description", owner, name)
			}
			walk(owner+"."+name, p)
		}
		for key, part := range s {
			if key != "properties" && key != "example" {
				walk(owner, part)
			}
		}
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for name, s := range schemas {
		walk(name, s)
	}
	walk("", doc["paths"])
	if len(names) < 500 {
		t.Errorf("only %d names were found", len(names))
	}

	everyTextIsUsed(t, "members.yaml", names)
}

// TestEveryParameterIsDescribed is the same for what stands in paths, queries and headers.
func TestEveryParameterIsDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, item := range description(t).Paths.Map() {
		for _, op := range item.Operations() {
			for _, p := range op.Parameters {
				names[p.Value.Name], names[op.OperationID+"."+p.Value.Name] = true, true
				if p.Value.Description == "" && p.Value.Schema.Value.Description == "" {
					t.Errorf("%s %s of %s has no description", p.Value.In, p.Value.Name, op.OperationID)
				}
			}
		}
	}
	everyTextIsUsed(t, "parameters.yaml", names)
}

// everyTextIsUsed fails for a text of a file that describes none of the names.
func everyTextIsUsed(t *testing.T, file string, names map[string]bool) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := yaml.Unmarshal(content, &texts); err != nil {
		t.Fatal(err)
	}
	for name := range texts {
		if !names[name] {
			t.Errorf("%s describes %s, which does not exist", file, name)
		}
	}
}
