package resource

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Optional is a member of a PATCH that null removes: absent, null and a value mean three different things. Members that cannot be
// without a value have other types; null changes nothing of them.
type Optional[T any] struct {
	Set   bool // The member is present, as null or with a value.
	Null  bool // The member is null.
	Value T
}

// Schema is the schema of the value, or null. The kit allows null exactly where the schema does.
func (Optional[T]) Schema(r huma.Registry) *huma.Schema {
	s := *huma.SchemaFromType(r, reflect.TypeFor[T]())
	s.Nullable = true
	return &s
}

// UnmarshalJSON is called for null as well, and not at all when the member is absent.
func (o *Optional[T]) UnmarshalJSON(text []byte) error {
	o.Set, o.Null = true, string(text) == "null"
	if o.Null {
		return nil
	}
	return json.Unmarshal(text, &o.Value)
}

// Pointer returns the value, or nil if the member is absent or null.
func (o *Optional[T]) Pointer() *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}

// Apply changes a stored value: absent keeps it, null makes it the zero value.
func (o *Optional[T]) Apply(to *T) {
	if o.Set {
		*to = o.Value
	}
}
