package jsonform

import (
	"bytes"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// FaultsMax bounds the faults of one content. BOUND: the first few say enough.
const FaultsMax = 20

// Form is a schema that content is held against. It is not safe for concurrent use.
type Form struct {
	schema *jsonschema.Schema
	// Asks are the names of the properties at the top: what the form asks for.
	asks map[string]bool
	// What the cost of contents is counted with, filled as schemas are visited.
	edges map[*jsonschema.Schema]*edges
	enums map[*jsonschema.Schema]int
}

// Fault is one place in the content that the schema does not allow.
type Fault struct {
	At      []string // Member names and array positions, from the top of the content.
	Keyword string   // Of the schema: what was not satisfied. Names of the schema's author, nothing of the content.
}

// New makes a form of a schema. REQUIRES: Check has accepted it, so that applying it costs what the package promises.
func New(schema []byte) (*Form, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, ErrInvalid
	}
	compiled, err := compile(doc)
	if err != nil {
		return nil, err
	}
	f := &Form{
		schema: compiled, asks: map[string]bool{},
		edges: map[*jsonschema.Schema]*edges{}, enums: map[*jsonschema.Schema]int{},
	}
	root, _ := doc.(map[string]any)
	properties, _ := root["properties"].(map[string]any)
	for name := range properties {
		f.asks[name] = true
	}
	return f, nil
}

// Asks reports whether the form has a property of this name at its top.
func (f *Form) Asks(name string) bool { return f.asks[name] }

// faults holds a content against the form. Their order is that of the places.
func (f *Form) faults(v any) []Fault {
	wrong, isWrong := errors.AsType[*jsonschema.ValidationError](f.schema.Validate(v))
	if !isWrong {
		return nil
	}
	return leaves(nil, wrong)
}

// leaves collects the ends of the tree of causes: the rest only says how the schema led there.
func leaves(found []Fault, e *jsonschema.ValidationError) []Fault {
	for _, cause := range e.Causes {
		found = leaves(found, cause)
	}
	if len(e.Causes) > 0 || len(found) == FaultsMax {
		return found
	}
	return append(found, Fault{At: e.InstanceLocation, Keyword: strings.Join(e.ErrorKind.KeywordPath(), "/")})
}
