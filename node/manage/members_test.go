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

	text, err := os.ReadFile("members.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := yaml.Unmarshal(text, &texts); err != nil {
		t.Fatal(err)
	}
	for name := range texts {
		if !names[name] {
			t.Errorf("members.yaml describes %s, which does not exist", name)
		}
	}
}

// TestEveryParameterIsDescribed is the same for what stands in paths, queries and headers.
func TestEveryParameterIsDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, o := range operations(t) {
		for _, p := range o.op.Parameters {
			names[p.Value.Name], names[o.id+"."+p.Value.Name] = true, true
			if p.Value.Description == "" && p.Value.Schema.Value.Description == "" {
				t.Errorf("%s %s of %s has no description", p.Value.In, p.Value.Name, o.id)
			}
		}
	}
	for _, item := range description(t).Paths.Map() { // Those that need no key, too.
		for _, op := range item.Operations() {
			for _, p := range op.Parameters {
				names[p.Value.Name], names[op.OperationID+"."+p.Value.Name] = true, true
			}
		}
	}
	text, err := os.ReadFile("parameters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := yaml.Unmarshal(text, &texts); err != nil {
		t.Fatal(err)
	}
	for name := range texts {
		if !names[name] {
			t.Errorf("parameters.yaml describes %s, which is no parameter", name)
		}
	}
}
