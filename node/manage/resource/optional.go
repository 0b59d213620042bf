package resource

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Optional is a member of a PATCH that null clears: absent, null and a value are three things. Everywhere else null means
// absent, so only members whose operation says what null does have this type.
type Optional[T any] struct {
	Set   bool // The member came, as null or with a value.
	Null  bool // It came as null.
	Value T
}

// Schema is the schema of the value, or null. The kit lets null pass exactly where the schema does.
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

// Apply changes what is kept: absent leaves it, null makes it the zero value.
func (o *Optional[T]) Apply(to *T) {
	if o.Set {
		*to = o.Value
	}
}
