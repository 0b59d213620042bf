package jsonform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// form makes a form of a schema that Check accepts.
func form(t testing.TB, schema string) *Form {
	t.Helper()
	if err := Check([]byte(schema)); err != nil {
		t.Fatalf("%.100s: %v", schema, err)
	}
	f, err := New([]byte(schema))
	if err != nil {
		t.Fatalf("%.100s: %v", schema, err)
	}
	return f
}

// bomb is a schema whose items each lead through 2^n paths.
func bomb(n int, keyword string) string {
	return `{"properties":{"x":{"items":{"$ref":"#/$defs/d0"}}},` + doubling(n, keyword)[len(`{"$ref":"#/$defs/d0",`):]
}

// numbersList is a content of n numbers.
func numbersList(n int) string { return `{"x":[` + list(n, func(int) string { return "7" }) + `]}` }

// TestCostlyContents: each way to make a small content expensive is refused before the schema is applied, and what merely
// looks like one is not.
func TestCostlyContents(t *testing.T) {
	words := list(2_000, func(i int) string { return fmt.Sprintf(`"w%d"`, i) })
	for _, c := range []struct {
		name, schema, content string
		want                  error
	}{
		{"banner", banner, `{"headingText":"Summer","bannerTextColour":"#00ff00"}`, nil},
		{"one place, 2,048 paths", bomb(11, "anyOf"), numbersList(1), nil},
		{"anyOf", bomb(11, "anyOf"), numbersList(8_000), ErrContentWork},
		{"oneOf", bomb(11, "oneOf"), numbersList(8_000), ErrContentWork},
		{"allOf", bomb(11, "allOf"), numbersList(8_000), ErrContentWork},
		{"many places, one path", `{"properties":{"x":{"items":{"type":"integer"}}}}`, numbersList(8_000), nil},
		{"long enumeration at many places", `{"properties":{"x":{"items":{"enum":[` + words + `]}}}}`, numbersList(1_000), ErrContentWork},
		{"long enumeration at one place", `{"properties":{"x":{"items":{"enum":[` + words + `]}}}}`, numbersList(1), nil},
		{
			"large pattern, long text", `{"properties":{"x":{"pattern":"` + strings.Repeat("(a|b)?", 900) + `"}}}`,
			`{"x":"` + strings.Repeat("a", 15_000) + `"}`, ErrContentWork,
		},
		{
			"pattern of a text, long text", `{"properties":{"x":{"pattern":"^[a-z ]*$"}}}`,
			`{"x":"` + strings.Repeat("a", 15_000) + `"}`, nil,
		},
		{
			"patterns of names", `{"patternProperties":{` + list(400, func(i int) string { return fmt.Sprintf(`"^a%d":true`, i) }) + `}}`,
			`{` + list(1_000, func(i int) string { return fmt.Sprintf(`"n%d":1`, i) }) + `}`, ErrContentWork,
		},
		{
			"names", `{"propertyNames":{"anyOf":[` + list(90, func(int) string { return `{"maxLength":2}` }) + `]}}`,
			`{` + list(1_000, func(i int) string { return fmt.Sprintf(`"n%d":1`, i) }) + `}`, ErrContentWork,
		},
		{
			"unique small lists of large values", `{"properties":{"x":{"items":{"uniqueItems":true}}}}`,
			`{"x":[` + list(20, func(int) string { return `[[` + list(150, func(int) string { return "1" }) + `],2]` }) + `]}`, nil,
		},
		{"number of a gigabyte", `{"properties":{"x":{"type":"integer"}}}`, `{"x":1e999999999}`, ErrNumber},
		{"long number", `{"properties":{"x":{"multipleOf":3}}}`, `{"x":` + strings.Repeat("9", 10_000) + `}`, ErrNumber},
	} {
		_, err := NewBudget(t.Context()).Faults(form(t, c.schema), []byte(c.content))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestPatternsOfContents: the format regex of draft-07 compiles texts of the content, but only up to PatternMax.
func TestPatternsOfContents(t *testing.T) {
	f := form(t, `{`+draft07+`,"properties":{"x":{"type":"string","format":"regex"}}}`)
	for content, want := range map[string]int{`{"x":"^a+$"}`: 0, `{"x":"(x{1000}){10}"}`: 1, `{"x":"("}`: 1} {
		if found, err := NewBudget(t.Context()).Faults(f, []byte(content)); len(found) != want || err != nil {
			t.Errorf("%s: %v %v, want %d faults", content, found, err, want)
		}
	}
}

// TestRequestBudget: contents that are cheap one by one are refused when there are too many, and so are schemas.
func TestRequestBudget(t *testing.T) {
	f, b := form(t, bomb(11, "anyOf")), NewBudget(t.Context())
	content := []byte(numbersList(3))
	one, err := f.steps(mustParse(t, numbersList(3)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range RequestStepsMax / one {
		if _, err := b.Faults(f, content); err != nil {
			t.Fatalf("content %d: %v", i, err)
		}
	}
	if _, err := b.Faults(f, content); !errors.Is(err, ErrRequestWork) {
		t.Errorf("one content more: %v, want %v", err, ErrRequestWork)
	}

	b = NewBudget(t.Context())
	large := []byte(`{"title":"` + strings.Repeat("x", BytesMax-len(`{"title":""}`)) + `"}`)
	for i := range RequestStepsMax / BytesMax {
		if _, err := b.Form(large); err != nil {
			t.Fatalf("schema %d: %v", i, err)
		}
	}
	if _, err := b.Form(large); !errors.Is(err, ErrRequestWork) {
		t.Errorf("one schema more: %v, want %v", err, ErrRequestWork)
	}
}

// TestBudgetEndsWithItsRequest: after the client has disconnected nothing more is compiled or applied.
func TestBudgetEndsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f, b := form(t, banner), NewBudget(ctx)
	cancel()
	if _, err := b.Faults(f, []byte(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("content: %v", err)
	}
	if _, err := b.Form([]byte(banner)); !errors.Is(err, context.Canceled) {
		t.Errorf("schema: %v", err)
	}
}

// TestCountIsNoLess: the validator's tree of causes has no more positions than steps were counted, whatever leads
// there. Each position is a separate visit, so the test finds a keyword that the count misses.
func TestCountIsNoLess(t *testing.T) {
	wrong := `{"type":"boolean"}`
	for _, schema := range []string{
		`{"x":{"items":` + wrong + `}}`, `{"x":{"items":{"not":{"type":"integer"}}}}`, `{"x":{"contains":` + wrong + `}}`,
		`{"x":{"prefixItems":[` + wrong + `,` + wrong + `]}}`, `{"x":{"unevaluatedItems":` + wrong + `}}`,
		`{"x":{"items":{"allOf":[` + wrong + `,` + wrong + `],"anyOf":[` + wrong + `],"oneOf":[` + wrong + `,` + wrong + `]}}}`,
		`{"x":{"items":{"if":true,"then":` + wrong + `}}}`, `{"x":{"items":{"if":false,"else":` + wrong + `}}}`,
		`{"o":{"additionalProperties":` + wrong + `}}`, `{"o":{"unevaluatedProperties":` + wrong + `}}`,
		`{"o":{"patternProperties":{".":` + wrong + `,"a":` + wrong + `}}}`, `{"o":{"propertyNames":{"maxLength":0}}}`,
		`{"o":{"dependentSchemas":{"a":` + wrong + `,"b":{"required":["z"]}}}}`, `{"o":{"properties":{"a":` + wrong + `}}}`,
		`{"o":{"dependencies":{"a":` + wrong + `}}}`, `{"o":{"$ref":"#/properties/x"},"x":` + wrong + `}`,
	} {
		for _, dialect := range []string{draft07, draft20} {
			f := form(t, `{`+dialect+`,"properties":`+schema+`}`)
			content := mustParse(t, `{"x":[1,2,3,[4]],"o":{"a":1,"b":{"c":2},"ab":3}}`)
			steps, err := f.steps(content)
			if err != nil {
				t.Fatal(err)
			}
			wrong, isWrong := errors.AsType[*jsonschema.ValidationError](f.schema.Validate(content))
			if isWrong && causes(wrong) > steps {
				t.Errorf("%s: %d causes after %d steps", schema, causes(wrong), steps)
			}
		}
	}
}

func causes(e *jsonschema.ValidationError) int {
	n := 1
	for _, c := range e.Causes {
		n += causes(c)
	}
	return n
}

func mustParse(t testing.TB, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzFaults: whatever schema is accepted, a content is either refused for its cost or checked, and the tree of causes is no
// larger than the count.
func FuzzFaults(f *testing.F) {
	f.Add(banner, `{"headingText":1}`)
	f.Add(bomb(5, "anyOf"), numbersList(5))
	f.Add(down(3), `{"x":{"x":{"x":1}}}`)
	f.Fuzz(func(t *testing.T, schema, content string) {
		if Check([]byte(schema)) != nil || !json.Valid([]byte(content)) || len(content) > 16<<10 {
			return
		}
		made, err := New([]byte(schema))
		if err != nil {
			t.Fatalf("Check accepts what New refuses: %v", err)
		}
		v := mustParse(t, content)
		steps, err := made.steps(v)
		if err != nil || numbers(v) != nil {
			return
		}
		if wrong, isWrong := errors.AsType[*jsonschema.ValidationError](made.schema.Validate(v)); isWrong && causes(wrong) > 2*steps+1 {
			t.Errorf("%d causes after %d steps", causes(wrong), steps)
		}
	})
}

// BenchmarkRefusedContent measures refusing the most expensive content.
func BenchmarkRefusedContent(b *testing.B) {
	f, content := form(b, bomb(11, "anyOf")), []byte(numbersList(8_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewBudget(b.Context()).Faults(f, content); !errors.Is(err, ErrContentWork) {
			b.Fatal(err)
		}
	}
}

// BenchmarkCostliestContent measures checking the most expensive accepted content against its schema.
func BenchmarkCostliestContent(b *testing.B) {
	f, content := form(b, bomb(11, "anyOf")), []byte(numbersList(7))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewBudget(b.Context()).Faults(f, content); err != nil {
			b.Fatal(err)
		}
	}
}
