package manage_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/gavel-ads/gavel/node/manage/managetest"
)

// TestLimits tries every bound of every member of every body, as the description states it: at the bound there is no
// violation at that place, one past it there is exactly the one.
func TestLimits(t *testing.T) {
	w := managetest.New(t)
	tried := 0
	for _, o := range operations(t) {
		if o.v2() || o.body() == nil {
			continue
		}
		l := memberLimits{t: t, w: w, o: &o, root: o.body()}
		l.walk(nil, o.body())
		tried += l.tried
	}
	if tried < 150 {
		t.Errorf("only %d bounds were found; the walk misses members", tried)
	}
}

// step is one level of a location in a body: a member, or the first element.
type step = string

const first step = "0"

type memberLimits struct {
	t     *testing.T
	w     *managetest.Environment
	o     *operation
	root  *openapi3.Schema
	tried int
}

func (l *memberLimits) walk(at []step, s *openapi3.Schema) {
	l.member(at, s)
	for name, p := range s.Properties {
		l.walk(append(slices.Clone(at), name), p.Value)
	}
	if s.Items != nil {
		l.walk(append(slices.Clone(at), first), s.Items.Value)
	}
}

func (l *memberLimits) member(at []step, s *openapi3.Schema) {
	if s.Type.Includes("string") && s.Format == "" && len(s.Enum) == 0 && s.Pattern == "" {
		if s.MaxLength != nil {
			n := int(*s.MaxLength)
			l.try(at, strings.Repeat("ä", n), "")
			l.try(at, strings.Repeat("ä", n+1), "string_too_long")
		}
		if s.MinLength > 0 {
			l.try(at, strings.Repeat("x", int(s.MinLength)), "")
			if s.MinLength > 1 || l.required(at) {
				l.try(at, strings.Repeat("x", int(s.MinLength)-1), "string_too_short")
			}
		}
	}
	if len(s.Enum) > 0 {
		for _, v := range s.Enum {
			l.try(at, v, "")
		}
		l.try(at, "no such word", "enum")
	}
	if s.Type.Includes("array") && s.MaxItems != nil {
		l.try(at, fill(s, int(*s.MaxItems)), "")
		l.try(at, fill(s, int(*s.MaxItems)+1), "too_long")
	}
	if s.Type.Includes("array") && s.MinItems > 0 {
		l.try(at, fill(s, int(s.MinItems)-1), "too_short")
	}
	l.numbers(at, s)
	l.types(at, s)
}

func (l *memberLimits) numbers(at []step, s *openapi3.Schema) {
	if s.Min != nil && !s.ExclusiveMin.IsTrue() {
		l.try(at, json.Number(number(*s.Min)), "")
		l.try(at, json.Number(below(s)), "greater_than_equal")
	}
	if s.Max != nil {
		l.try(at, json.Number(strconv.FormatFloat(*s.Max, 'f', -1, 64)), "")
		l.try(at, json.Number(above(s)), "less_than_equal")
	}
}

func below(s *openapi3.Schema) string {
	if s.Type.Includes("integer") {
		return strconv.FormatInt(int64(*s.Min)-1, 10)
	}
	return strconv.FormatFloat(*s.Min-0.0001, 'f', -1, 64)
}

func above(s *openapi3.Schema) string {
	if s.Type.Includes("integer") {
		return strconv.FormatInt(int64(*s.Max)+1, 10)
	}
	return strconv.FormatFloat(*s.Max, 'f', -1, 64) + map[bool]string{true: "01", false: ".0001"}[strings.Contains(strconv.FormatFloat(*s.Max, 'f', -1, 64), ".")]
}

// types sends each member a value of another type.
func (l *memberLimits) types(at []step, s *openapi3.Schema) {
	if len(at) == 0 || s.Type == nil {
		return
	}
	for kind, wrong := range map[string]struct {
		value any
		fault string
	}{
		"string": {7, "string_type"}, "integer": {json.Number("7.0"), "int_type"}, "number": {"7", "float_type"},
		"boolean": {1, "bool_type"}, "array": {map[string]any{}, "list_type"}, "object": {[]any{}, "dict_type"},
	} {
		if s.Type.Includes(kind) {
			l.try(at, wrong.value, wrong.fault)
		}
	}
	if s.Type.Includes("integer") {
		l.try(at, json.Number("1e0"), "int_type")
		l.try(at, json.Number(strings.Repeat("9", 33)), "int_type")
		l.try(at, json.Number(strings.Repeat("9", 32)), "less_than_equal")
	}
}

func fill(s *openapi3.Schema, n int) []any {
	a := make([]any, n)
	for i := range a {
		a[i] = example(s.Items.Value)
	}
	return a
}

// try sends the smallest body with one value in it, and looks for violations at its location.
func (l *memberLimits) try(at []step, value any, want string) {
	l.t.Helper()
	l.tried++
	body := put(l.root, at, value)
	rec := call(l.w, l.o.method, l.o.target(), l.o.key("management"), encode(l.t, body))
	if rec.Code >= 500 || rec.Code == 400 && want == "" && !ledgerRefusal.MatchString(rec.Body.String()) {
		l.t.Errorf("%s %v = %.60v: %d %.300s", l.o.id, at, value, rec.Code, rec.Body)
		return
	}
	loc := append([]string{"body"}, at...)
	var got []string
	for _, v := range violations(l.t, rec) {
		if slices.Equal(v.Loc, loc) && v.Type != "resource_not_found" && v.Type != "invalid_vendor" && v.Type != "value_error" {
			got = append(got, v.Type)
		}
	}
	if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0] != want) {
		l.t.Errorf("%s %v = %.60v: violations %v, want %q (%d %.300s)", l.o.id, at, value, got, want, rec.Code, rec.Body)
	}
}

// ledgerRefusal is the answer of an operation on money with 400 after all members were found valid.
var ledgerRefusal = regexp.MustCompile(`"errCode":"(equal_from_and_to|invalid_ledger_account|insufficient_balance|invalid_resolved_bid_id)"`)

// put makes the smallest value of a schema that has a given value at a location.
func put(s *openapi3.Schema, at []step, value any) any {
	if len(at) == 0 {
		return value
	}
	if s.Items != nil {
		rest := put(s.Items.Value, at[1:], value)
		a := []any{rest}
		for len(a) < int(s.MinItems) {
			a = append(a, example(s.Items.Value))
		}
		return a
	}
	o, ok := example(s).(map[string]any)
	if !ok {
		panic("a path into what is no object")
	}
	o[at[0]] = put(s.Properties[at[0]].Value, at[1:], value)
	return o
}

// required reports whether the member at a location is required by its object, or is an element of an array.
func (l *memberLimits) required(at []step) bool {
	s := l.root
	for i, part := range at {
		if s.Items != nil {
			s = s.Items.Value
			if i == len(at)-1 {
				return true
			}
			continue
		}
		if i == len(at)-1 {
			return slices.Contains(s.Required, part)
		}
		s = s.Properties[part].Value
	}
	return false
}
