package resource

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// manyMax is how many items a request may contain in place of one. BOUND: the interface's.
const manyMax = 50

// OneOrMany is one item, or an array of 1 to 50 of them; the answer has the form of the request.
type OneOrMany[T any] struct {
	Items []T
	Many  bool // True if an array was sent.
}

// Schema describes both forms.
func (OneOrMany[T]) Schema(r huma.Registry) *huma.Schema {
	least, most := 1, manyMax
	item := r.Schema(reflect.TypeFor[T](), true, "")
	return &huma.Schema{OneOf: []*huma.Schema{item, {Type: huma.TypeArray, Items: item, MinItems: &least, MaxItems: &most}}}
}

// UnmarshalJSON reads either form.
func (o *OneOrMany[T]) UnmarshalJSON(text []byte) error {
	if o.Many = text[0] == '['; o.Many {
		return json.Unmarshal(text, &o.Items)
	}
	o.Items = make([]T, 1)
	return json.Unmarshal(text, &o.Items[0])
}

// MarshalJSON writes the form that was sent.
func (o OneOrMany[T]) MarshalJSON() ([]byte, error) {
	if o.Many {
		return json.Marshal(o.Items)
	}
	return json.Marshal(o.Items[0])
}

// At is the location of a member of an item in the body.
func (o OneOrMany[T]) At(item int, member string) []any {
	if o.Many {
		return []any{"body", item, member}
	}
	return []any{"body", member}
}

// form returns the schema of the form that was sent, where the schema allows several: the first one of the value's JSON type,
// or the first one of all when none fits.
func (c *checker) form(i int, s *huma.Schema) *huma.Schema {
	if len(s.OneOf) == 0 {
		return s
	}
	kind, ok := map[byte]string{'[': huma.TypeArray, '{': huma.TypeObject, '"': huma.TypeString}[c.data[i]]
	for _, form := range s.OneOf {
		if form = c.resolve(form); ok && form.Type == kind {
			return form
		}
	}
	return c.resolve(s.OneOf[0])
}
