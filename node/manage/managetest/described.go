package managetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Description is /openapi.json as a client sees it, read by another library than the one that wrote it. It checks
// exchanges: what a client may send according to it, and what it may expect.
//
// INVARIANT: an answer is correct when its operation documents its status, its content type, and every member of its body;
// a request that succeeded is correct when a client that knows only the description could have sent it.
type Description struct {
	doc      *openapi3.T
	Answered map[string]bool // The operations that were answered with success.
}

// Description reads the description of the environment's API.
func (w *Environment) Description(t testing.TB) *Description {
	t.Helper()
	text, err := w.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	return &Description{doc: doc, Answered: map[string]bool{}}
}

// Check returns what is wrong with an exchange. A request that is not described must not succeed.
func (d *Description) Check(r *http.Request, sent string, rec *httptest.ResponseRecorder) error {
	template, values := d.path(r.URL.EscapedPath())
	var op *openapi3.Operation
	if template != "" {
		op = d.doc.Paths.Value(template).GetOperation(r.Method)
	}
	good := rec.Code >= 200 && rec.Code < 300
	if op == nil {
		if good {
			return fmt.Errorf("%s %s is served but not described", r.Method, r.URL.Path)
		}
		return nil
	}
	faults := []error{d.answer(op, rec)}
	if good {
		d.Answered[op.OperationID] = true
		faults = append(faults, d.parameters(op, values, r.URL.Query()), d.body(op, r.Header.Get("Content-Type"), sent))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("%s %s, %d: %w", op.OperationID, r.URL.Path, rec.Code, err)
	}
	return nil
}

// OperationOf returns the id of the operation that a request is for, or "" when none is described.
func (d *Description) OperationOf(r *http.Request) string {
	template, _ := d.path(r.URL.EscapedPath())
	if template == "" {
		return ""
	}
	if op := d.doc.Paths.Value(template).GetOperation(r.Method); op != nil {
		return op.OperationID
	}
	return ""
}

// path finds the path template of a path, and the values of its parameters. Literal segments have priority over parameters.
func (d *Description) path(sent string) (template string, values map[string]string) {
	segments := strings.Split(sent, "/")
	fewest := len(segments)
	for candidate := range d.doc.Paths.Map() {
		parts := strings.Split(candidate, "/")
		if len(parts) != len(segments) {
			continue
		}
		found, fits := map[string]string{}, true
		for i, part := range parts {
			if strings.HasPrefix(part, "{") {
				value, err := url.PathUnescape(segments[i])
				found[strings.Trim(part, "{}")], fits = value, fits && err == nil
			} else {
				fits = fits && part == segments[i]
			}
		}
		if fits && len(found) < fewest {
			template, values, fewest = candidate, found, len(found)
		}
	}
	return template, values
}

func (d *Description) parameters(op *openapi3.Operation, path map[string]string, query url.Values) error {
	var faults []error
	known := map[string]bool{}
	for _, ref := range op.Parameters {
		p := ref.Value
		known[p.In+" "+p.Name] = true
		var sent []string
		switch p.In {
		case openapi3.ParameterInPath:
			sent = []string{path[p.Name]}
		case openapi3.ParameterInQuery:
			sent = query[p.Name]
		default:
			continue
		}
		if len(sent) == 0 && p.Required {
			faults = append(faults, fmt.Errorf("%s is required", p.Name))
		}
		if len(sent) > 0 {
			faults = append(faults, fits(p.Name, p.Schema.Value, argument(p.Schema.Value, sent)))
		}
	}
	for name := range query {
		if !known["query "+name] {
			faults = append(faults, fmt.Errorf("the query parameter %s is not described", name))
		}
	}
	for name := range path {
		if !known["path "+name] {
			faults = append(faults, fmt.Errorf("the path parameter %s is not described", name))
		}
	}
	return errors.Join(faults...)
}

// argument converts a parameter's value to the type of its schema.
func argument(s *openapi3.Schema, sent []string) any {
	if s.Type.Includes(openapi3.TypeArray) {
		all := []any{}
		for _, text := range sent {
			for item := range strings.SplitSeq(text, ",") {
				all = append(all, argument(s.Items.Value, []string{item}))
			}
		}
		return all
	}
	if s.Type.Includes(openapi3.TypeInteger) || s.Type.Includes(openapi3.TypeNumber) {
		if f, err := strconv.ParseFloat(sent[0], 64); err == nil {
			return f
		}
	}
	if s.Type.Includes(openapi3.TypeBoolean) {
		if b, err := strconv.ParseBool(sent[0]); err == nil {
			return b
		}
	}
	return sent[0]
}

func (d *Description) body(op *openapi3.Operation, contentType, sent string) error {
	switch {
	case op.RequestBody == nil && sent == "":
		return nil
	case op.RequestBody == nil:
		return errors.New("no body is described, but one was taken")
	case sent == "" && op.RequestBody.Value.Required:
		return errors.New("a body is required, but none was asked for")
	case sent == "":
		return nil
	}
	if contentType == "" {
		contentType = "application/json"
	}
	return described("body", op.RequestBody.Value.Content, contentType, []byte(sent), asRequest)
}

func (d *Description) answer(op *openapi3.Operation, rec *httptest.ResponseRecorder) error {
	ref := op.Responses.Value(strconv.Itoa(rec.Code))
	if ref == nil {
		return errors.New("the status is not described")
	}
	if rec.Body.Len() == 0 {
		if len(ref.Value.Content) > 0 {
			return errors.New("a body is described, but there is none")
		}
		return nil
	}
	return described("answer", ref.Value.Content, rec.Header().Get("Content-Type"), rec.Body.Bytes(), asAnswer)
}

// described checks a body against the media types of a description. Only JSON has a schema.
func described(what string, content openapi3.Content, contentType string, text []byte, validate schemaCheck) error {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("%s of type %q: %w", what, contentType, err)
	}
	media := content[kind]
	switch {
	case media == nil && content["*/*"] != nil:
		return nil
	case media == nil:
		return fmt.Errorf("%s: the type %s is not described", what, kind)
	case kind != "application/json":
		return nil
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return validate(what, media.Schema.Value, value)
}

// fits checks a value against a schema, and returns every violation with its location.
func fits(what string, s *openapi3.Schema, value any) error {
	err := s.VisitJSON(value, openapi3.MultiErrors(), openapi3.EnableFormatValidation())
	if err == nil {
		return nil
	}
	var all openapi3.MultiError
	if !errors.As(err, &all) {
		all = openapi3.MultiError{err}
	}
	var faults []error
	for _, one := range all {
		if fault, ok := errors.AsType[*openapi3.SchemaError](one); ok {
			if open := fault.Schema; fault.Value == nil && open.Type == nil && len(open.OneOf) == 0 {
				continue // A schema that allows anything allows null; the library disagrees.
			}
			one = fmt.Errorf("/%s: %s", strings.Join(fault.JSONPointer(), "/"), fault.Reason)
		}
		faults = append(faults, fmt.Errorf("%s: %w", what, one))
	}
	return errors.Join(faults...)
}

// schemaCheck checks a JSON body against its schema.
type schemaCheck func(what string, s *openapi3.Schema, value any) error

// asRequest checks a request. Unknown members are allowed, because they are ignored, and null counts as absent.
func asRequest(what string, s *openapi3.Schema, value any) error {
	return fits(what, s, present(value))
}

func asAnswer(what string, s *openapi3.Schema, value any) error {
	return errors.Join(fits(what, s, value), undescribed(what, s, value))
}

// present removes members that are null or empty texts, because in requests they count as absent.
func present(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = present(v[i])
		}
	case map[string]any:
		for name, item := range v {
			if item == nil || item == "" {
				delete(v, name)
			} else {
				v[name] = present(item)
			}
		}
	}
	return value
}

// undescribed finds members that the description does not name, which a typed client would lose. Schemas without members are
// free-form.
func undescribed(at string, s *openapi3.Schema, value any) error {
	var faults []error
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if s.Items != nil {
				faults = append(faults, undescribed(fmt.Sprintf("%s[%d]", at, i), s.Items.Value, item))
			}
		}
	case map[string]any:
		forms := members(s)
		for name, item := range v {
			if p := forms[name]; p != nil {
				faults = append(faults, undescribed(at+"."+name, p, item))
			} else if len(forms) > 0 {
				faults = append(faults, fmt.Errorf("%s.%s is not described", at, name))
			}
		}
	}
	return errors.Join(faults...)
}

// members are the properties of an object, from all alternatives that its schema allows.
func members(s *openapi3.Schema) map[string]*openapi3.Schema {
	all := map[string]*openapi3.Schema{}
	for name, p := range s.Properties {
		all[name] = p.Value
	}
	for _, form := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		maps.Copy(all, members(form.Value))
	}
	return all
}
