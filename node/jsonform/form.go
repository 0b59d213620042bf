package jsonform

import (
	"bytes"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// FaultsMax bounds the faults of one content. BOUND: the first few say enough.
const FaultsMax = 20

// Form is a compiled schema. It is not safe for concurrent use.
type Form struct {
	schema *jsonschema.Schema
	// The names of the properties at the top of the schema.
	properties map[string]bool
	// Caches for counting the cost of contents, filled as schemas are visited.
	edges map[*jsonschema.Schema]*edges
	enums map[*jsonschema.Schema]int
}

// Fault is one position in the content that the schema does not allow.
type Fault struct {
	At      []string // Member names and array positions, from the top of the content.
	Keyword string   // The keywords of the schema that were not satisfied. They contain nothing of the content.
}

// New compiles a schema. REQUIRES: Check has accepted it, so that applying it costs what the package promises.
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
		schema: compiled, properties: map[string]bool{},
		edges: map[*jsonschema.Schema]*edges{}, enums: map[*jsonschema.Schema]int{},
	}
	root, _ := doc.(map[string]any)
	properties, _ := root["properties"].(map[string]any)
	for name := range properties {
		f.properties[name] = true
	}
	return f, nil
}

// HasProperty reports whether the schema has a property of this name at its top.
func (f *Form) HasProperty(name string) bool { return f.properties[name] }

// faults returns the faults of a content, in the order of their positions.
func (f *Form) faults(v any) []Fault {
	wrong, isWrong := errors.AsType[*jsonschema.ValidationError](f.schema.Validate(v))
	if !isWrong {
		return nil
	}
	return leaves(nil, wrong)
}

// leaves collects the leaves of the tree of causes. The inner nodes only say how the schema led there.
func leaves(found []Fault, e *jsonschema.ValidationError) []Fault {
	for _, cause := range e.Causes {
		found = leaves(found, cause)
	}
	if len(e.Causes) > 0 || len(found) == FaultsMax {
		return found
	}
	return append(found, Fault{At: e.InstanceLocation, Keyword: strings.Join(e.ErrorKind.KeywordPath(), "/")})
}
