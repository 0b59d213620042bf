package jsonform

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const (
	draft07 = `"$schema":"http://json-schema.org/draft-07/schema#"`
	draft20 = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
)

// banner is a schema as a marketplace writes one.
const banner = `{` + draft20 + `,"type":"object","required":["headingText"],"additionalProperties":false,"properties":{
	"headingText":{"type":"string","maxLength":40},
	"bannerTextColour":{"type":"string","pattern":"^#[0-9a-fA-F]{6}$"},
	"heroImage":{"type":"string","format":"uri","x-field-type":"file"}}}`

// nested is a schema with that many nested schemas.
func nested(depth int) string {
	return strings.Repeat(`{"not":`, depth-1) + `{}` + strings.Repeat(`}`, depth-1)
}

// wide is a schema with that many sibling schemas, its root included.
func wide(n int) string {
	return `{"properties":{` + list(n-1, func(i int) string { return fmt.Sprintf(`"p%d":true`, i) }) + `}}`
}

// list writes n things with commas between them.
func list(n int, of func(int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = of(i)
	}
	return strings.Join(all, ",")
}

// doubling tries each next definition twice: 2^n paths in a few bytes.
func doubling(n int, keyword string) string {
	return `{"$ref":"#/$defs/d0","$defs":{` + list(n, func(i int) string {
		return fmt.Sprintf(`"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, keyword, i+1, i+1)
	}) + fmt.Sprintf(`,"d%d":{"type":"string"}}}`, n)
}

// exactly is a schema of that many paths: as many references as fit to a schema of 101 paths, and plain schemas for the
// rest.
func exactly(n int) string {
	const block = 101 // The schema of 100 alternatives, itself counted; a reference to it makes 102.
	refs := (n - 1) / (block + 1)
	rest := (n - 1) % (block + 1)
	return `{"allOf":[` + list(refs, func(int) string { return `{"$ref":"#/$defs/block"}` }) + `,` + list(rest, func(int) string { return `true` }) +
		`],"$defs":{"block":{"anyOf":[` + list(block-1, func(int) string { return `true` }) + `]}}}`
}

// TestAttacks: every dangerous schema is refused with its own error, and similar harmless ones are not.
func TestAttacks(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		want         error
	}{
		{"empty", `{}`, nil},
		{"banner", banner, nil},
		{"draft-07", `{` + draft07 + `,"definitions":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/a"}}}`, nil},
		{"draft-07, https is another address", `{"$schema":"https://json-schema.org/draft-07/schema#"}`, ErrDialect},
		{"draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#"}`, ErrDialect},
		{"2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema"}`, ErrDialect},
		{"own dialect", `{"$schema":"https://evil.test/schema"}`, ErrDialect},
		{"dialect inside", `{"$defs":{"a":{"$id":"a","$schema":"http://json-schema.org/draft-04/schema#"}}}`, ErrDialect},
		{"$schema is no text", `{"$schema":7}`, ErrInvalid},

		{"not JSON", `{`, ErrInvalid},
		{"two values", `{} {}`, ErrInvalid},
		{"list", `[]`, ErrInvalid},
		{"text", `"x"`, ErrInvalid},
		{"unknown type", `{"type":"text"}`, ErrInvalid},
		{"wrong keyword value", `{"minLength":-1}`, ErrInvalid},
		{"wrong keyword value inside", `{"properties":{"a":{"required":"a"}}}`, ErrInvalid},
		{"items of 2020-12 is no list", `{` + draft20 + `,"items":[true]}`, ErrInvalid},
		{"items of draft-07 may be", `{` + draft07 + `,"items":[true]}`, nil},
		{"own keywords", `{"x-field-type":"file","format":"uri"}`, nil},

		{"file", `{"$ref":"file:///etc/passwd"}`, ErrElsewhere},
		{"path", `{"$ref":"/etc/passwd"}`, ErrElsewhere},
		{"relative path", `{"$ref":"../../etc/passwd"}`, ErrElsewhere},
		{"address", `{"properties":{"a":{"$ref":"https://evil.test/schema.json"}}}`, ErrElsewhere},
		{"address that nothing leads to", `{"$defs":{"a":{"$ref":"https://evil.test/schema.json"}}}`, ErrElsewhere},
		{"address in draft-07", `{` + draft07 + `,"definitions":{"a":{"$ref":"http://169.254.169.254/latest#"}}}`, ErrElsewhere},
		{"dialect's own schema", `{"$ref":"http://json-schema.org/draft-07/schema#"}`, ErrElsewhere},
		{"dynamic", `{"$dynamicRef":"https://evil.test/#a"}`, ErrElsewhere},
		{"address in a hidden place", `{"x":{"y":{"$ref":"https://evil.test/"}},"$ref":"#/x/y"}`, ErrElsewhere},
		{"file by the base", `{"$id":"file:///etc/","$ref":"passwd"}`, ErrElsewhere},
		{"itself by its $id", `{"$id":"https://shop.test/a","properties":{"b":{"$ref":"https://shop.test/a#/$defs/c"}},"$defs":{"c":true}}`, nil},
		{"part by its $id", `{"$defs":{"c":{"$id":"c","type":"string"}},"properties":{"b":{"$ref":"c"}}}`, nil},
		{"anchor", `{"$defs":{"c":{"$anchor":"c"}},"$ref":"#c"}`, nil},
		{"anchor of nothing", `{"$ref":"#c"}`, ErrInvalid},
		{"place of nothing", `{"$ref":"#/$defs/c"}`, ErrInvalid},

		{"deep at the bound", nested(DepthMax), nil},
		{"too deep", nested(DepthMax + 1), ErrTooDeep},
		{"many at the bound", wide(SubschemasMax), nil},
		{"too many", wide(SubschemasMax + 1), ErrTooMany},
		{"too many in a hidden place", `{"x":` + wide(SubschemasMax) + `,"$ref":"#/x"}`, ErrTooMany},
		{"large at the bound", `{"title":"` + strings.Repeat("x", BytesMax-len(`{"title":""}`)) + `"}`, nil},
		{"too large", `{"title":"` + strings.Repeat("x", BytesMax-len(`{"title":""}`)+1) + `"}`, ErrTooLarge},
		{"paths at the bound", exactly(PathsMax), nil},
		{"too many paths", exactly(PathsMax + 1), ErrTooManyPaths},

		{"10 doublings", doubling(10, "anyOf"), nil},
		{"22 doublings, anyOf", doubling(22, "anyOf"), ErrTooManyPaths},
		{"22 doublings, oneOf", doubling(22, "oneOf"), ErrTooManyPaths},
		{"22 doublings, allOf", doubling(22, "allOf"), ErrTooManyPaths},
		{"doublings of draft-07", `{` + draft07 + `,` + doubling(22, "allOf")[1:], ErrTooManyPaths},
		{"doublings by if", byIf(22), ErrTooManyPaths},
		{"doublings down the same member", down(22), ErrTooManyPaths},
		{"doublings by recursion", `{"anyOf":[{"properties":{"x":{"$ref":"#"}}},{"properties":{"x":{"$ref":"#"}}}]}`, ErrTooManyPaths},
		{"recursion by a pattern and a name", `{"properties":{"x":{"$ref":"#"}},"patternProperties":{".":{"$ref":"#"}}}`, ErrTooManyPaths},
		{"list", `{"properties":{"next":{"$ref":"#"}}}`, nil},
		{"tree", `{"properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}`, nil},
		{"tree of lists", `{"properties":{"children":{"items":{"$ref":"#"}}}}`, nil},
		{"endless", `{"$ref":"#"}`, ErrEndless},
		{"endless in a circle", `{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}`, ErrEndless},
		{"dynamic to itself", `{"$dynamicAnchor":"a","properties":{"x":{"$dynamicRef":"#a"}}}`, nil},
		{"dynamic twice", `{"$dynamicAnchor":"a","$defs":{"b":{"$id":"b","$dynamicAnchor":"a"}}}`, ErrDynamicAnchor},

		{"number at the bound", `{"maximum":1e99,"minimum":-1e-99,"enum":[` + strings.Repeat("9", NumberMax) + `]}`, nil},
		{"large number", `{"maximum":1e100}`, ErrNumber},
		{"gigabyte of a number", `{"multipleOf":1e999999999}`, ErrNumber},
		{"gigabyte of a fraction", `{"enum":[[{"a":1e-999999999}]]}`, ErrNumber},
		{"long number", `{"const":` + strings.Repeat("9", NumberMax+1) + `}`, ErrNumber},

		{"pattern that no RE2 knows", `{"pattern":"(?=a)"}`, ErrPatterns},
		{"pattern with a reference back", `{"pattern":"(a)\\1"}`, ErrPatterns},
		{"broken pattern", `{"patternProperties":{"(":true}}`, ErrPatterns},
		{"patterns at the bound", patterns("xxxxxxxxx"), nil},
		{"patterns past the bound", patterns("xxxxxxxxxx"), ErrPatterns},
		{"pattern that grows", `{"pattern":"` + strings.Repeat("x{1000}", 10) + `"}`, ErrPatterns},
		{"patterns that grow together", `{"properties":{` + list(10, func(i int) string { return fmt.Sprintf(`"p%d":{"pattern":"[ab]{1000}"}`, i) }) + `}}`, ErrPatterns},
		{"names that grow", `{"patternProperties":{"(x{30}){30}":true,"(y{90}){90}":true}}`, ErrPatterns},
	} {
		if err := Check([]byte(c.schema)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// patterns is a schema with patterns of 9,990 positions, and one more: a position for itself and one for each character.
func patterns(more string) string {
	return `{"allOf":[` + list(9, func(int) string { return `{"pattern":"x{370}"}` }) + `,{"pattern":"` + more + `"}]}`
}

// byIf doubles through conditions.
func byIf(n int) string {
	return `{"$ref":"#/$defs/d0","$defs":{` + list(n, func(i int) string {
		return fmt.Sprintf(`"d%d":{"if":{"$ref":"#/$defs/d%d"},"then":{"$ref":"#/$defs/d%d"}}`, i, i+1, i+1)
	}) + fmt.Sprintf(`,"d%d":{"type":"string"}}}`, n)
}

// down doubles through the members of an object: the content that takes all ways is only 22 deep.
func down(n int) string {
	return `{"$ref":"#/$defs/d0","$defs":{` + list(n, func(i int) string {
		step := fmt.Sprintf(`{"properties":{"x":{"$ref":"#/$defs/d%d"}}}`, i+1)
		return fmt.Sprintf(`"d%d":{"anyOf":[%s,%s]}`, i, step, step)
	}) + fmt.Sprintf(`,"d%d":{"type":"string"}}}`, n)
}

// TestBombsAreCheap: the cost of refusing an exponential schema does not depend on how many paths it has.
func TestBombsAreCheap(t *testing.T) {
	const stepsMax = 33 * SubschemasMax * 2 // A fraction of a millisecond.
	for name, schema := range map[string]string{
		"22 doublings": doubling(22, "anyOf"), "150 doublings": doubling(150, "oneOf"), "down": down(60), "wide": wide(5_000),
		"deep":      nested(5_000),
		"recursion": `{"anyOf":[` + list(200, func(int) string { return `{"items":{"$ref":"#"}}` }) + `]}`,
	} {
		steps, err := check([]byte(schema))
		if err == nil || steps > stepsMax {
			t.Errorf("%s: %v after %d steps, want a refusal after at most %d", name, err, steps, stepsMax)
		}
	}
}

// TestReasonsRepeatNothing: the error of a refused schema contains nothing of the schema.
func TestReasonsRepeatNothing(t *testing.T) {
	for _, schema := range []string{
		`{"$ref":"file:///s3cret"}`, `{"type":"s3cret"}`, `{"pattern":"s3cret("}`, `{"$schema":"s3cret"}`, `{"$ref":"#/s3cret"}`, `{"s3cret"`,
	} {
		if err := Check([]byte(schema)); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// FuzzCheck: no text makes the check panic, and what it accepts it accepts again.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		banner, doubling(5, "anyOf"), down(3), nested(3), `{"$dynamicAnchor":"a","items":{"$dynamicRef":"#a"}}`,
		`{` + draft07 + `,"$id":"x:y","dependencies":{"a":["b"],"c":{"if":true,"then":false}}}`, `{"$id":"%","$ref":"%"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		if first, again := Check([]byte(schema)), Check([]byte(schema)); (first == nil) != (again == nil) {
			t.Errorf("%v, then %v", first, again)
		}
	})
}
