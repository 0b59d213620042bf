package jsonform

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// The keywords that contain schemas, in either dialect. A keyword of the other dialect only makes the count higher.
var (
	single = []string{
		"not", "if", "then", "else", "additionalProperties", "additionalItems", "propertyNames", "contains", "items",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema",
	}
	lists = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	named = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)

// dialects are the allowed values of $schema, without an empty fragment.
var dialects = []string{"http://json-schema.org/draft-07/schema", "https://json-schema.org/draft/2020-12/schema"}

// survey walks a schema as a tree, without following references, before the library sees it: the library gets only small schemas. It
// also walks parts that no reference reaches, so that none of them is stored unchecked.
type survey struct {
	schemas  int
	pattern  int             // Positions of all patterns, added up.
	ids      map[string]bool // URLs that the schema gives to parts of itself.
	refs     []string        // URLs that it refers to.
	dynamics map[string]bool
}

func newSurvey() *survey {
	return &survey{ids: map[string]bool{home: true}, dynamics: map[string]bool{}}
}

func (s *survey) whole(doc any) error {
	base, err := url.Parse(home)
	if err != nil {
		return err
	}
	if err := numbers(doc); err != nil {
		return err
	}
	if err := s.schema(doc, base, 1); err != nil {
		return err
	}
	for _, ref := range s.refs {
		if !s.ids[ref] {
			return ErrElsewhere
		}
	}
	return nil
}

// schema checks one schema and the schemas within it. It leaves values that are not schemas for the library to refuse.
func (s *survey) schema(v any, base *url.URL, depth int) error {
	object, isObject := v.(map[string]any)
	if _, isBool := v.(bool); !isObject && !isBool {
		return nil
	}
	if s.schemas++; s.schemas > SubschemasMax {
		return ErrTooMany
	}
	if depth > DepthMax {
		return ErrTooDeep
	}
	base, err := s.names(object, base)
	if err != nil {
		return err
	}
	if err := s.patterns(object); err != nil {
		return err
	}
	return s.inside(object, base, depth+1)
}

func (s *survey) inside(object map[string]any, base *url.URL, depth int) error {
	for _, keyword := range single {
		if err := s.schema(object[keyword], base, depth); err != nil {
			return err
		}
	}
	for _, keyword := range lists {
		all, _ := object[keyword].([]any)
		for _, v := range all {
			if err := s.schema(v, base, depth); err != nil {
				return err
			}
		}
	}
	for _, keyword := range named {
		all, _ := object[keyword].(map[string]any)
		for _, v := range all {
			if err := s.schema(v, base, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// names checks $schema and $dynamicAnchor, and collects the URLs that are given and those that are referred to. It returns the URL that
// references within the schema are relative to.
func (s *survey) names(object map[string]any, base *url.URL) (*url.URL, error) {
	if dialect, ok := object["$schema"].(string); ok && !isDialect(dialect) {
		return nil, ErrDialect
	}
	if anchor, ok := object["$dynamicAnchor"].(string); ok {
		if s.dynamics[anchor] {
			return nil, ErrDynamicAnchor // Which of them is meant would depend on the path to it, so no count would be valid.
		}
		s.dynamics[anchor] = true
	}
	if id, ok := object["$id"].(string); ok && !strings.HasPrefix(id, "#") {
		here, err := base.Parse(id)
		if err != nil {
			return nil, ErrInvalid
		}
		base = here
		s.ids[address(here)] = true
	}
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		ref, ok := object[keyword].(string)
		if !ok || strings.HasPrefix(ref, "#") {
			continue
		}
		there, err := base.Parse(ref)
		if err != nil {
			return nil, ErrInvalid
		}
		s.refs = append(s.refs, address(there))
	}
	return base, nil
}

func isDialect(text string) bool {
	for _, d := range dialects {
		if strings.TrimSuffix(text, "#") == d {
			return true
		}
	}
	return false
}

func address(u *url.URL) string {
	bare := *u
	bare.Fragment, bare.RawFragment = "", ""
	return strings.TrimSuffix(bare.String(), "#")
}

// numbers checks every number, also in values that are not schemas, because enum and const are compared exactly.
func numbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		at := strings.IndexAny(string(v), "eE")
		if len(v) > NumberMax {
			return ErrNumber
		}
		if at < 0 {
			return nil
		}
		if e, err := strconv.Atoi(string(v[at+1:])); err != nil || e > ExponentMax || e < -ExponentMax {
			return ErrNumber
		}
	case []any:
		for _, x := range v {
			if err := numbers(x); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, x := range v {
			if err := numbers(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// patterns adds up the positions of the patterns of a schema.
func (s *survey) patterns(object map[string]any) error {
	all := []string{}
	if text, ok := object["pattern"].(string); ok {
		all = append(all, text)
	}
	byPattern, _ := object["patternProperties"].(map[string]any)
	for text := range byPattern {
		all = append(all, text)
	}
	for _, text := range all {
		n, err := patternSize(text)
		if err != nil {
			return err
		}
		if s.pattern += n; s.pattern > PatternMax {
			return ErrPatterns
		}
	}
	return nil
}
