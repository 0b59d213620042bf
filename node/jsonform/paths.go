package jsonform

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contentDepth is how deep content can be nested. BOUND: the interface's, for every body.
const contentDepth = 32

// paths counts the paths by which a validator reaches schemas while it checks one position in the content. A schema may be written
// once and reached a million times: twenty alternatives, each of which tries the next one twice.
//
// Two kinds of edges lead from schema to schema. Those that stay at the same position ($ref, anyOf, not, …) add up. Those that go one
// level into the content (properties, items, …) add up only where they lead to the same member. So a tree whose nodes have a left
// and a right child is cheap, and two alternatives that both check the same member are not. A schema that leads back to itself is
// followed as deep as content can be nested. If it leads back without going deeper, it would never end, and is refused.
//
// The count is at least the maximum over all contents. Each pair of schema and depth is counted once, so counting takes at most 33
// steps for each edge of the schema.
type paths struct {
	edges map[*jsonschema.Schema]*edges
	known map[visit]int
	open  map[visit]bool // The pairs that are being counted further up the stack.
	steps int
}

type visit struct {
	schema *jsonschema.Schema
	deeper int // Levels of content that may follow below.
}

// edges are the schemas that a schema leads to.
type edges struct {
	same  []*jsonschema.Schema            // At the same position.
	below map[string][]*jsonschema.Schema // At the member of this name.
	any   []*jsonschema.Schema            // At members of any name, or at elements.
}

func newPaths() *paths {
	return &paths{edges: map[*jsonschema.Schema]*edges{}, known: map[visit]int{}, open: map[visit]bool{}}
}

// count returns nil, or the reason why a compiled schema costs too much to apply.
func (p *paths) count(root *jsonschema.Schema) error {
	_, err := p.at(visit{root, contentDepth})
	return err
}

// at counts the paths from one schema.
func (p *paths) at(v visit) (int, error) {
	if n, ok := p.known[v]; ok {
		return n, nil
	}
	if p.open[v] {
		return 0, ErrEndless
	}
	p.open[v] = true
	p.steps++
	e := p.edges[v.schema]
	if e == nil {
		e = edgesOf(v.schema)
		p.edges[v.schema] = e
	}
	if len(p.edges) > SubschemasMax {
		return 0, ErrTooMany // References may lead to positions where the survey saw no schema.
	}
	total, err := p.sum(1, e.same, v.deeper)
	if err == nil && v.deeper > 0 {
		total, err = p.into(total, e, v.deeper-1)
	}
	if err != nil {
		return 0, err
	}
	delete(p.open, v)
	p.known[v] = total
	return total, nil
}

// into adds the paths one level deeper, at the member with the most of them.
func (p *paths) into(total int, e *edges, deeper int) (int, error) {
	everywhere, err := p.sum(total, e.any, deeper)
	if err != nil {
		return 0, err
	}
	most := everywhere
	for _, schemas := range e.below {
		n, err := p.sum(everywhere, schemas, deeper)
		if err != nil {
			return 0, err
		}
		most = max(most, n)
	}
	return most, nil
}

func (p *paths) sum(total int, schemas []*jsonschema.Schema, deeper int) (int, error) {
	for _, s := range schemas {
		n, err := p.at(visit{s, deeper})
		if err != nil {
			return 0, err
		}
		if total += n; total > PathsMax {
			return 0, ErrTooManyPaths
		}
	}
	return total, nil
}

func edgesOf(s *jsonschema.Schema) *edges {
	e := &edges{below: map[string][]*jsonschema.Schema{}}
	e.stay(s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.ContentSchema)
	if s.DynamicRef != nil {
		e.stay(s.DynamicRef.Ref)
	}
	e.stay(s.AllOf...)
	e.stay(s.AnyOf...)
	e.stay(s.OneOf...)
	for _, d := range s.DependentSchemas {
		e.stay(d)
	}
	for _, d := range s.Dependencies {
		e.stay(schemasIn(d)...)
	}
	for name, d := range s.Properties {
		e.below[name] = append(e.below[name], d)
	}
	for _, d := range s.PatternProperties {
		e.enter(d)
	}
	e.enter(s.PropertyNames, s.Contains, s.UnevaluatedProperties, s.UnevaluatedItems, s.Items2020)
	e.enter(schemasIn(s.AdditionalProperties)...)
	e.enter(schemasIn(s.Items)...)
	e.enter(schemasIn(s.AdditionalItems)...)
	e.enter(s.PrefixItems...)
	return e
}

func (e *edges) stay(schemas ...*jsonschema.Schema)  { e.same = appendReal(e.same, schemas) }
func (e *edges) enter(schemas ...*jsonschema.Schema) { e.any = appendReal(e.any, schemas) }

func appendReal(dst, schemas []*jsonschema.Schema) []*jsonschema.Schema {
	for _, s := range schemas {
		if s != nil {
			dst = append(dst, s)
		}
	}
	return dst
}

// schemasIn returns the schemas of a keyword that may hold one, several, or something else.
func schemasIn(v any) []*jsonschema.Schema {
	switch v := v.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{v}
	case []*jsonschema.Schema:
		return v
	default:
		return nil
	}
}
