package resource

import (
	"cmp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// DescribeMembers gives every member that has no description the one of its name, or of its schema and name with a dot between them.
// It is called once, after all operations were added.
func DescribeMembers(api *huma.OpenAPI, texts map[string]string) {
	d := describer{texts, map[*huma.Schema]bool{}}
	for name, s := range api.Components.Schemas.Map() {
		d.members(name, s)
	}
	for _, item := range api.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			if op.RequestBody != nil {
				d.contents(op.RequestBody.Content)
			}
			for _, r := range op.Responses {
				d.contents(r.Content)
			}
		}
	}
}

// DescribeParameters gives every parameter that has no description the one of its name, or of its operation and name with a dot
// between them.
func DescribeParameters(api *huma.OpenAPI, texts map[string]string) {
	for _, item := range api.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			for i, p := range op.Parameters {
				text := cmp.Or(texts[op.OperationID+"."+p.Name], texts[p.Name])
				if text == "" || p.Description != "" || p.Schema != nil && p.Schema.Description != "" {
					continue
				}
				own := *p // Operations may share a parameter.
				own.Description = text
				op.Parameters[i] = &own
			}
		}
	}
}

// describer walks schemas; each one is visited once.
type describer struct {
	texts map[string]string
	seen  map[*huma.Schema]bool
}

func (d *describer) contents(all map[string]*huma.MediaType) {
	for _, m := range all {
		d.members("", m.Schema)
	}
}

// members describes the members of a schema.
func (d *describer) members(owner string, s *huma.Schema) {
	if s == nil || d.seen[s] {
		return
	}
	d.seen[s] = true
	for name, p := range s.Properties {
		if text := d.text(owner, name); p.Description == "" && text != "" {
			own := *p // Members of several schemas may share one description.
			own.Description = text
			p = &own
			s.Properties[name] = p
		}
		d.members(owner+"."+name, p)
	}
	d.members(owner, s.Items)
	for _, form := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		d.members(owner, form)
	}
}

func (d *describer) text(owner, name string) string {
	if text, ok := d.texts[strings.TrimPrefix(owner+".", ".")+name]; ok {
		return text
	}
	return d.texts[name]
}
