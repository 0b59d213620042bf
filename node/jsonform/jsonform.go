// Package jsonform checks the JSON Schemas that marketplaces give their templates.
//
// Such a schema is a program of a stranger. It may name files and addresses, it may cost hours to apply to a short text, and
// its patterns may compile to hundreds of megabytes. Check finds that out before anything is applied, and by counting: what
// a schema costs to refuse is bounded by the limits below, not by a clock.
//
// INVARIANT: a schema that Check accepted is compiled and applied without a look at any file or address, with at most
// PathsMax visits for each place in the content. What a whole request costs is bounded by its Budget.
package jsonform

import (
	"bytes"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a schema.
const (
	BytesMax      = 64 << 10 // BOUND: of the interface.
	DepthMax      = 16       // BOUND: schemas inside of one another, the root counted.
	SubschemasMax = 500      // BOUND: schemas in all, the root counted.
	PathsMax      = 10_000   // BOUND: ways through $ref, anyOf and the like that lead to a schema, for one place in the content.
	NumberMax     = 32       // BOUND: characters of a number, of the interface.
	ExponentMax   = 99       // BOUND: 1e99 has 100 digits, 1e999999999 a gigabyte.
	PatternMax    = 10_000   // BOUND: positions of all patterns together, repetitions written out.
)

// Reasons to refuse a schema. Their texts may be shown: they repeat nothing of the schema.
var (
	ErrTooLarge      = errors.New("has more than 64 KiB")
	ErrTooDeep       = errors.New("nests schemas more than 16 deep")
	ErrTooMany       = errors.New("has more than 500 schemas")
	ErrTooManyPaths  = errors.New("leads through more than 10,000 paths")
	ErrEndless       = errors.New("refers to itself without an end")
	ErrNumber        = errors.New("has a number of more than 32 characters or with an exponent beyond 99")
	ErrPatterns      = errors.New("has a pattern that is no RE2 expression, or patterns that are too large")
	ErrElsewhere     = errors.New("refers to something outside of itself")
	ErrDialect       = errors.New("has a $schema that is neither draft-07 nor 2020-12")
	ErrDynamicAnchor = errors.New("has the same $dynamicAnchor twice")
	ErrInvalid       = errors.New("is no valid schema of draft-07 or 2020-12")
)

// home is the address that a schema without $id has. It is never asked for, and by its name cannot be.
const home = "https://schema.invalid/"

// Check returns nil for a schema that may be kept, or one of the reasons above. A schema without $schema is of 2020-12.
func Check(text []byte) error {
	_, err := check(text)
	return err
}

// check also returns how many schemas and paths were looked at, which is what the work is made of.
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

// nowhere is a loader that finds nothing. The library's own opens files.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, ErrElsewhere }

// compile checks the schema against its own dialect and resolves its references.
func compile(doc any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	c.UseRegexpEngine(compilePattern)
	if c.AddResource(home, doc) != nil {
		return nil, ErrInvalid
	}
	compiled, err := c.Compile(home)
	if _, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return nil, ErrElsewhere
	}
	if err != nil {
		return nil, ErrInvalid // The library's text repeats what was sent.
	}
	return compiled, nil
}
