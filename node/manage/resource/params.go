package resource

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// Param is an optional query parameter that records whether it was given.
type Param[T any] struct {
	Value T
	Given bool
}

// Schema is the schema of the value.
func (p Param[T]) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[T]())
}

// Receiver returns the field in which huma stores the value.
func (p *Param[T]) Receiver() reflect.Value { return reflect.ValueOf(p).Elem().Field(0) }

// OnParamSet is called by huma with whether the parameter was given.
func (p *Param[T]) OnParamSet(given bool, _ any) { p.Given = given }

// checkParams checks the path and query parameters of an operation. Empty query parameters count as absent; unknown ones
// are ignored; of a parameter that comes several times the first counts, except for lists.
//
// INVARIANT: the query is rewritten to what was checked. huma reads it with its own parser, for which a bare
// "limit" means "true" and a semicolon is data.
func (k *kit) checkParams(r *http.Request, op *huma.Operation) []Violation {
	c := checker{kit: k}
	query := r.URL.Query()
	for name, values := range query {
		if query[name] = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(query[name]) == 0 {
			delete(query, name)
		}
	}
	r.URL.RawQuery = query.Encode()
	for _, p := range op.Parameters {
		if p.In == "header" {
			continue // The listener reads headers.
		}
		c.loc = []string{p.In, p.Name}
		values := query[p.Name]
		if p.In == "path" {
			values = []string{r.PathValue(p.Name)}
		}
		c.param(values, p)
	}
	return c.found
}

func (c *checker) param(values []string, p *huma.Param) {
	if len(values) == 0 || values[0] == "" { // A path parameter may be empty.
		if p.Required {
			c.violation("missing", "required")
		}
		return
	}
	s := c.resolve(p.Schema)
	if s.Type != huma.TypeArray {
		if slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
			c.violation("value_error", "is given more than once, with different values")
			return
		}
		c.paramValue(values[0], s)
		return
	}
	if s.MaxItems != nil && len(values) > *s.MaxItems {
		c.violation("too_long", "must come at most "+counted(*s.MaxItems, "time"))
		return
	}
	for i, v := range values {
		c.push(strconv.Itoa(i))
		c.paramValue(v, s.Items)
		c.pop()
	}
}

// paramValue checks one value, which is text whatever its type.
func (c *checker) paramValue(value string, s *huma.Schema) {
	switch s.Type {
	case huma.TypeInteger:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil || len(value) > numberLen || strings.HasPrefix(value, "+") {
			c.violation("int_parsing", "must be an integer")
			return
		}
		c.bounds(value, s)
	case huma.TypeBoolean:
		if value != "true" && value != "false" {
			c.violation("bool_type", "must be true or false")
		}
	default:
		if !utf8.ValidString(value) {
			c.violation("string_type", "must be UTF-8")
			return
		}
		c.text(value, s)
	}
}
