package resource

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/limits"
	"github.com/gavel-ads/gavel/node/store"
)

// ViolationsMax is the most violations one answer lists. BOUND: a body of 500 broken items must not become an answer of
// megabytes.
const ViolationsMax = 50

// Violation is one reason why a request does not match the model of its operation. It never repeats what was sent: a body
// may hold personal data.
type Violation struct {
	Loc  []string `json:"loc" doc:"Where: body, query or path, then member names and array positions."`
	Msg  string   `json:"msg" doc:"English text, may change."`
	Type string   `json:"type" doc:"What kind of violation."`
}

// Violations is the body of a 422.
type Violations struct {
	Detail []Violation `json:"detail" maxItems:"50"`
}

// ErrorBody is the body of every other error.
type ErrorBody struct {
	ErrCode string `json:"errCode" doc:"Stable code of the error."`
	DocURL  string `json:"docUrl" doc:"Where the code is described."`
	Message string `json:"message" doc:"English text, may change."`
	Error   string `json:"error" doc:"The HTTP reason phrase."`
}

// Problem is an error for the client: a 422 if it has violations, else the error object of its code.
type Problem struct {
	Code       apierr.Code
	Message    string // Empty means the default message of the code.
	Violations []Violation
	Cause      error // For the log only, never for the client.
	// RetryAfter is when the request may be repeated, rounded up to seconds. Zero means the default: 1 to 3 seconds for a
	// 503, and no Retry-After for any other status.
	RetryAfter time.Duration
}

// Refuse returns an error with one code.
func Refuse(code apierr.Code, message string) error { return &Problem{Code: code, Message: message} }

// Invalid returns a 422 with the given violations.
func Invalid(found ...Violation) error { return &Problem{Violations: found} }

// At makes a violation; the location is made of member names and array positions.
func At(kind, msg string, loc ...any) Violation {
	v := Violation{Loc: make([]string, len(loc)), Msg: msg, Type: kind}
	for i, part := range loc {
		switch part := part.(type) {
		case int:
			v.Loc[i] = strconv.Itoa(part)
		case string:
			v.Loc[i] = part
		}
	}
	return v
}

// Error returns the code and the text.
func (p *Problem) Error() string {
	if len(p.Violations) > 0 {
		return "invalid request: " + p.Violations[0].Msg
	}
	return apierr.New(p.Code, p.Message).Error()
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// GetStatus returns the HTTP status. huma calls it.
func (p *Problem) GetStatus() int {
	if len(p.Violations) > 0 {
		return http.StatusUnprocessableEntity
	}
	return p.Code.Status()
}

// GetHeaders returns the additional headers of the answer. huma calls it.
func (p *Problem) GetHeaders() http.Header {
	if p.RetryAfter > 0 {
		return http.Header{"Retry-After": {strconv.FormatInt(int64((p.RetryAfter+time.Second-1)/time.Second), 10)}}
	}
	if p.GetStatus() != http.StatusServiceUnavailable {
		return nil
	}
	return http.Header{"Retry-After": {strconv.Itoa(1 + rand.IntN(3))}} //nolint:gosec // jitter, no secret.
}

// Schema describes a Problem by the error object.
func (*Problem) Schema(r huma.Registry) *huma.Schema { return errorSchema(r) }

// newProblem makes the few errors that huma finds by itself. It is also called at registration, with status 0.
func newProblem(status int, _ string, causes ...error) huma.StatusError {
	code := apierr.InternalServerError
	if status >= 400 && status < 500 {
		code = apierr.BadRequest
	}
	return &Problem{Code: code, Cause: errors.Join(causes...)}
}

// ErrorOf turns an error of the store into the answer for it. An unknown error is answered 500 and logged.
func ErrorOf(err error) error {
	if _, ok := errors.AsType[*Problem](err); ok || err == nil {
		return err
	}
	if limit, ok := errors.AsType[*store.Limit](err); ok {
		return Refuse(apierr.LimitExceeded, limit.Error())
	}
	code := apierr.InternalServerError
	for _, row := range storeErrors {
		if errors.Is(err, row.err) {
			code = row.code
		}
	}
	if errors.Is(err, context.Canceled) {
		code = apierr.RequestCanceled
	}
	if errors.Is(err, limits.ErrWorkTooLong) {
		return err // inBackground makes the answer.
	}
	message := ""
	switch {
	case errors.Is(err, store.ErrChanged):
		message = changedMessage
	case errors.Is(err, store.ErrClosed):
		message = store.ErrClosed.Error()
	}
	return &Problem{Code: code, Message: message, Cause: err}
}

// changedMessage is the message for a change that was given up because other writers were always faster.
const changedMessage = "other requests changed the resource at the same time, so this change was not made; read the resource and repeat it"

var storeErrors = []struct {
	err  error
	code apierr.Code
}{
	{store.ErrNotFound, apierr.ResourceNotFound},
	{store.ErrAlreadyExists, apierr.AlreadyExists},
	{store.ErrWrongState, apierr.InvalidOperation},
	{store.ErrChanged, apierr.InvalidOperation},
	{store.ErrTooMany, apierr.InvalidOperation},
	{store.ErrInsufficientBalance, apierr.InsufficientBalance},
	{store.ErrUnavailable, apierr.ServiceUnavailable},
}

// LimitErrorOf is ErrorOf for an operation that may exceed a limit, which the message names.
func LimitErrorOf(err error, message string) error {
	if _, own := errors.AsType[*store.Limit](err); !own && errors.Is(err, store.ErrTooMany) {
		return Refuse(apierr.InvalidOperation, message)
	}
	return ErrorOf(err)
}

// VendorErrorOf is ErrorOf for errors about a vendor; an unknown vendor has its own code.
func VendorErrorOf(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return &Problem{Code: apierr.InvalidVendor}
	}
	return ErrorOf(err)
}

// body returns the JSON of the problem.
func (p *Problem) body(publicURL string) []byte {
	if len(p.Violations) == 0 {
		return apierr.Append(nil, p.Code, p.Message, publicURL)
	}
	text, err := json.Marshal(Violations{Detail: p.Violations[:min(len(p.Violations), ViolationsMax)]})
	if err != nil {
		panic("a violation is only text: " + err.Error())
	}
	return text
}

// writeProblem is the transformer that gives huma the body of a problem which a typed function returned.
func (k *kit) writeProblem(ctx huma.Context, _ string, v any) (any, error) {
	p, ok := v.(*Problem)
	if !ok {
		return v, nil
	}
	if p.GetStatus() == http.StatusInternalServerError {
		k.logger.Error("management_operation_failed",
			slog.String("operation", ctx.Operation().OperationID), slog.Any("error", p.Cause))
	}
	return json.RawMessage(p.body(k.publicURL)), nil
}

// refuse writes a problem that was found before huma handles the request.
func (k *kit) refuse(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.GetStatus())
	_, _ = w.Write(p.body(k.publicURL)) // The client may have disconnected.
}

// replaceBody replaces the body by one with checked members only.
func (k *kit) replaceBody(r *http.Request, body []byte) {
	r.Header.Set("Content-Type", "application/json")
	r.Body = io.NopCloser(bytes.NewReader(body))
}

// IsProblem reports whether an error is a Problem.
func IsProblem(err error) bool {
	_, ok := errors.AsType[*Problem](err)
	return ok
}

// WriteProblem answers an error of an operation that is not registered with Add. It returns the cause to log, for a 500.
func WriteProblem(w http.ResponseWriter, publicURL string, err error) (cause error) {
	p, ok := errors.AsType[*Problem](err)
	if !ok {
		p = &Problem{Code: apierr.InternalServerError, Cause: err}
	}
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.GetStatus())
	_, _ = w.Write(p.body(publicURL)) // The client may have disconnected.
	if p.GetStatus() == http.StatusInternalServerError {
		return p.Cause
	}
	return nil
}
