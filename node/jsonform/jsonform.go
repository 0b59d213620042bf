// Package jsonform checks the JSON Schemas of templates, which marketplaces write, and the contents that fill the templates in.
//
// Such a schema is a program that cannot be trusted. It may refer to files and URLs, it may take hours to apply to a short text,
// and its patterns may compile to hundreds of megabytes. Check detects that before anything is applied, and by counting: what a
// schema costs to refuse is bounded by the limits below, not by a timeout. A time limit would be kept on one machine and exceeded
// on another, and the work that it stops would have been begun.
//
// INVARIANT: a schema that Check accepted is compiled and applied without reading any file or URL, with at most PathsMax visits for
// each position in the content. What a whole request costs is bounded by its Budget.
package jsonform

import (
	"bytes"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a schema.
const (
	BytesMax      = 64 << 10 // BOUND: bytes of a schema. It is the interface's.
	DepthMax      = 16       // BOUND: nested schemas, the root included.
	SubschemasMax = 500      // BOUND: schemas in all, the root included.
	PathsMax      = 10_000   // BOUND: paths through $ref, anyOf and the like that lead to a schema, for one position in the content.
	NumberMax     = 32       // BOUND: characters of a number. It is the interface's.
	ExponentMax   = 99       // BOUND: exponent of a number. 1e99 has 100 digits, 1e999999999 a gigabyte.
	PatternMax    = 10_000   // BOUND: positions of all patterns together, with repetitions expanded.
)

// Reasons to refuse a schema. Clients may see their texts, which contain nothing of the schema.
var (
	ErrTooLarge      = errors.New("has more than 64 KiB")
	ErrTooDeep       = errors.New("nests schemas more than 16 deep")
	ErrTooMany       = errors.New("has more than 500 schemas")
	ErrTooManyPaths  = errors.New("leads through more than 10,000 paths")
	ErrEndless       = errors.New("refers to itself without an end")
	ErrNumber        = errors.New("has a number of more than 32 characters or with an exponent beyond 99")
	ErrPatterns      = errors.New("has a pattern that is not an RE2 expression, or patterns that are too large")
	ErrElsewhere     = errors.New("refers to something outside of itself")
	ErrDialect       = errors.New("has a $schema that is neither draft-07 nor 2020-12")
	ErrDynamicAnchor = errors.New("has the same $dynamicAnchor twice")
	ErrInvalid       = errors.New("is not a valid schema of draft-07 or 2020-12")
)

// home is the URL of a schema without $id. Nothing is ever fetched from it; the top-level domain .invalid does not exist.
const home = "https://schema.invalid/"

// Check returns nil for a schema that may be stored, or one of the errors above. A schema without $schema is read as draft 2020-12.
func Check(text []byte) error {
	_, err := check(text)
	return err
}

// check also returns how many schemas and paths were visited, which is the measure of the work.
func check(text []byte) (steps int, err error) {
	if len(text) > BytesMax {
		return 0, ErrTooLarge
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return 0, ErrInvalid
	}
	s := newSurvey()
	if err := s.whole(doc); err != nil {
		return s.schemas, err
	}
	compiled, err := compile(doc)
	if err != nil {
		return s.schemas, err
	}
	p := newPaths()
	err = p.count(compiled)
	return s.schemas + p.steps, err
}

// noLoader is a loader that finds nothing. The library's default loader would open files.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, ErrElsewhere }

// compile checks the schema against its own dialect and resolves its references.
func compile(doc any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	if c.AddResource(home, doc) != nil {
		return nil, ErrInvalid
	}
	compiled, err := c.Compile(home)
	if _, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return nil, ErrElsewhere
	}
	if err != nil {
		return nil, ErrInvalid // The library's error text would repeat parts of the schema.
	}
	return compiled, nil
}
