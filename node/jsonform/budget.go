package jsonform

import (
	"bytes"
	"context"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of the work of checking contents against schemas. A schema has up to PathsMax paths for each position in a content,
// and a content has thousands of positions. Only their product says what a request costs.
const (
	// ContentStepsMax bounds one content. BOUND: each step can leave one fault of about 300 bytes until the content is
	// checked, so 15 MB at most. A template of 30 fields with 16 KiB of content takes less than a tenth of that.
	ContentStepsMax = 50_000
	// RequestStepsMax bounds all contents and schemas of one request. BOUND: about a tenth of a second of one core, or
	// 5,000 creatives of 100 steps.
	RequestStepsMax = 500_000
)

// Reasons to refuse a content or a request because of its cost.
var (
	ErrContentWork = errors.New("takes more than 50,000 steps to be checked against its template")
	ErrRequestWork = errors.New("takes more than 500,000 steps to be checked, all templates and contents of the request together")
)

// Budget counts the steps that one request may spend on schemas and contents. It is not safe for concurrent use.
type Budget struct {
	ctx  context.Context //nolint:containedctx // A budget lives as long as the request whose context this is.
	left int
}

// NewBudget returns the budget of a request. The work ends with ctx.
func NewBudget(ctx context.Context) *Budget { return &Budget{ctx: ctx, left: RequestStepsMax} }

// Form compiles a schema. REQUIRES: Check has accepted it. It returns ErrRequestWork when the request has spent its budget, and the error
// of the request's context. Each byte of the schema counts as one step.
func (b *Budget) Form(schema []byte) (*Form, error) {
	if err := b.spend(len(schema)); err != nil {
		return nil, err
	}
	return New(schema)
}

// Faults checks content, which is JSON, against a form. It returns ErrNumber for a number that is too expensive to compare,
// ErrContentWork when this content alone would cost too much, ErrRequestWork when the request has spent its budget, and the error of
// the request's context. After an error the form was not applied.
func (b *Budget) Faults(f *Form, content []byte) ([]Fault, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		return []Fault{{Keyword: "type"}}, nil //nolint:nilerr // What is not JSON has the wrong type: a fault of the content.
	}
	if err := numbers(v); err != nil {
		return nil, err
	}
	steps, err := f.steps(v)
	if err != nil {
		return nil, err
	}
	if err := b.spend(steps); err != nil {
		return nil, err
	}
	return f.faults(v), nil
}

func (b *Budget) spend(steps int) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if b.left -= steps; b.left < 0 {
		return ErrRequestWork
	}
	return nil
}

// steps counts the steps that checking v against the form would take. Beyond ContentStepsMax it returns ErrContentWork.
func (f *Form) steps(v any) (int, error) {
	c := cost{edges: f.edges, enums: f.enums, left: ContentStepsMax}
	if !c.visit(f.schema, v) {
		return ContentStepsMax, ErrContentWork
	}
	return ContentStepsMax - c.left, nil
}
