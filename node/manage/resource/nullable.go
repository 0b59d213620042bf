package resource

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// nullable completes the description of an answer. A member that is a pointer or a map and is never left out is sometimes
// null. huma describes that for plain scalars, but not for objects, which it describes by reference, nor for types that
// describe themselves.
func nullable(r huma.Registry, t reflect.Type, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	described := r.Map()[schemaName(t, "")]
	for f := range t.Fields() {
		nullable(r, f.Type, seen)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if described == nil || f.Type.Kind() != reflect.Pointer && f.Type.Kind() != reflect.Map || strings.Contains(options, "omit") {
			continue
		}
		p := described.Properties[name]
		switch {
		case p == nil, p.Type == "" && p.Ref == "":
		case p.Ref != "":
			described.Properties[name] = &huma.Schema{OneOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}, Description: p.Description}
		default:
			own := *p
			own.Nullable = true
			described.Properties[name] = &own
		}
	}
}
