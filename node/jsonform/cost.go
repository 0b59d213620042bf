package jsonform

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// matchShare is how many comparisons of a character with a position of a pattern count as one step. A step of the
// validator takes about 200 ns, and the regexp package makes a comparison in about 5.
const matchShare = 32

// textShare is how many bytes of a text count as one step, for work that is linear in the text: its length, its format.
const textShare = 64

// cost counts the steps that checking one content against a schema can take, before it is done. It walks the schema and the content
// together, takes every alternative, and adds for each visit what the keywords of the schema do there.
//
// INVARIANT: the validator makes at most as many visits as are counted. It may stop early where the count does not.
//
// The count makes one visit for each that it counts and ends when there are more than allowed, so counting costs no more than what
// is allowed.
type cost struct {
	edges map[*jsonschema.Schema]*edges
	enums map[*jsonschema.Schema]int
	left  int
}

// visit counts the visit of one schema at one value and what follows from it. It reports false when that exceeds the limit.
func (c *cost) visit(s *jsonschema.Schema, v any) bool {
	if c.left -= 1 + c.keywords(s, v); c.left < 0 {
		return false
	}
	e := c.edges[s]
	if e == nil {
		e = edgesOf(s)
		c.edges[s] = e
	}
	return c.all(e.same, v) && c.children(e, s, v)
}

func (c *cost) all(schemas []*jsonschema.Schema, v any) bool {
	for _, s := range schemas {
		if !c.visit(s, v) {
			return false
		}
	}
	return true
}

// children counts the members of an object, or the elements of an array.
func (c *cost) children(e *edges, s *jsonschema.Schema, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			if s.PropertyNames != nil && !c.visit(s.PropertyNames, name) {
				return false
			}
			if !c.all(e.below[name], child) || !c.all(e.any, child) {
				return false
			}
		}
	case []any:
		for _, child := range v {
			if !c.all(e.any, child) {
				return false
			}
		}
	}
	return true
}

// keywords counts the steps of one schema at one value, without its subschemas.
func (c *cost) keywords(s *jsonschema.Schema, v any) int {
	steps := c.compared(s) + len(s.Required) + len(s.Dependencies)
	for _, required := range s.DependentRequired {
		steps += 1 + len(required)
	}
	switch v := v.(type) {
	case map[string]any:
		steps += len(v)
		for pattern := range s.PatternProperties {
			for name := range v {
				steps += matching(pattern, name)
			}
		}
	case []any:
		steps += len(v)
		if s.UniqueItems {
			steps += min(len(v), uniquePairs) * size(v)
		}
	case string:
		steps += len(v) / textShare
		if s.Pattern != nil {
			steps += matching(s.Pattern, v)
		}
	}
	return steps
}

// uniquePairs is the most elements of which the library compares every pair. With more elements it compares hashes.
const uniquePairs = 20

// compared counts the values that enum and const compare with a value.
func (c *cost) compared(s *jsonschema.Schema) int {
	if s.Enum == nil && s.Const == nil {
		return 0
	}
	n, known := c.enums[s]
	if known {
		return n
	}
	if s.Enum != nil {
		n += size(s.Enum.Values)
	}
	if s.Const != nil {
		n += size(*s.Const)
	}
	c.enums[s] = n
	return n
}

// matching counts the work of matching a text with a pattern.
func matching(r jsonschema.Regexp, text string) int {
	p, ok := r.(pattern)
	if !ok {
		panic("jsonform: a pattern was compiled by another engine")
	}
	return 1 + len(text)*p.positions/matchShare
}

// size counts the values within a value, itself included. A long text or number counts more.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			n += size(x) + len(name)/textShare
		}
	case []any:
		for _, x := range v {
			n += size(x)
		}
	case string:
		n += len(v) / textShare
	case json.Number:
		n += len(v) / textShare
	}
	return n
}
