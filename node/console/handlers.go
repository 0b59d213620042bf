package console

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/mail"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/login"
	"github.com/gavel-ads/gavel/node/store"
)

// handlers are the operations of the console itself.
type handlers struct {
	*Service
	Listener
}

// Bounds of a request.
const (
	bodyMax       = 16 << 10 // BOUND: bytes of a body.
	changeTimeout = 30 * time.Second
	nameMax       = 100 // BOUND: characters of a person's name.
	emailMax      = 255 // BOUND: characters of an address, as in the public interface.
)

// wait is a refusal because of too many attempts, with the time of the next one.
type wait struct{ until time.Time }

func (w wait) Error() string { return "too many attempts" }

// answer serves an operation that returns the body of its answer, or nil for an answer without one.
func (h handlers) answer(serve func(w http.ResponseWriter, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if h.origins.Check(r) != nil {
			h.Refuse(w, apierr.CrossOrigin, "")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), changeTimeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, bodyMax)
		body, err := serve(w, r.WithContext(ctx))
		var text []byte
		if err == nil && body != nil {
			text, err = json.Marshal(body)
		}
		switch {
		case err != nil:
			h.refuse(w, r, err)
		case body == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			if _, signedOut := body.(Needs); signedOut {
				w.WriteHeader(apierr.NotSignedIn.Status())
			}
			_, _ = w.Write(text) // The client may have disconnected.
		}
	}
}

// refuse answers an error.
func (h handlers) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var final *apierr.Error
	var later wait
	var limit *store.Limit
	switch {
	case errors.As(err, &limit):
		h.Refuse(w, apierr.LimitExceeded, limit.Error())
	case errors.As(err, &final):
		h.Refuse(w, final.Code, final.Message)
	case errors.As(err, &later):
		seconds := max(1, int64((later.until.Sub(h.deps.Now())+time.Second-1)/time.Second))
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(h.deps.Now().Unix()+seconds, 10))
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
		h.Refuse(w, apierr.TooManyRequests, "too many failed attempts to sign in; try again later")
	case errors.Is(err, login.ErrBusy), errors.Is(err, store.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		h.Refuse(w, apierr.ServiceUnavailable, "")
	case errors.Is(err, store.ErrChanged):
		h.Refuse(w, apierr.InvalidOperation, "it was changed by somebody else at the same moment; try again")
	case errors.Is(err, store.ErrNotFound):
		h.Refuse(w, apierr.ResourceNotFound, "")
	case errors.Is(err, store.ErrAlreadyExists):
		h.Refuse(w, apierr.AlreadyExists, "")
	case errors.Is(err, store.ErrLastAdmin):
		h.Refuse(w, apierr.InvalidOperation, "this is the last admin; make another one first")
	case r.Context().Err() != nil:
		h.Refuse(w, apierr.RequestCanceled, "")
	default:
		h.deps.Log.Error("console_operation_failed", slog.String("path", r.URL.Path), slog.Any("err", err))
		h.Refuse(w, apierr.InternalServerError, "")
	}
}

// unknown answers a path of the API that is none, which must not be answered with a page.
func (h handlers) unknown(w http.ResponseWriter, _ *http.Request) {
	h.Refuse(w, apierr.ResourceNotFound, "")
}

// bad is the refusal of a member of a body.
func bad(member, problem string) error {
	return apierr.New(apierr.BadRequest, member+" "+problem)
}

// read reads the body of a request.
func read[T any](r *http.Request) (body T, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return body, apierr.New(apierr.UnsupportedMediaType, "Content-Type must be application/json")
	}
	text, err := io.ReadAll(r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return body, apierr.New(apierr.PayloadTooLarge, "")
	}
	if err != nil {
		return body, apierr.New(apierr.RequestCanceled, "")
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	err = d.Decode(&body)
	if err == nil && d.More() {
		err = errors.New("more than one value")
	}
	wrong, isType := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case isType:
		return body, bad(wrong.Field, "must be of the type "+wrong.Type.String())
	case err != nil:
		return body, apierr.New(apierr.InvalidJSON, "the body is not a JSON object with the members of this operation")
	}
	return body, nil
}

// checkPerson checks what a person chooses for an account.
func checkPerson(name, password string) error {
	if n := utf8.RuneCountInString(strings.TrimSpace(name)); n == 0 || n > nameMax {
		return bad("name", "must have 1 to "+strconv.Itoa(nameMax)+" characters")
	}
	if err := login.CheckPassword(password); err != nil {
		return bad("password", err.Error())
	}
	return nil
}

// CheckEmail returns the refusal of an address that is no e-mail address.
func CheckEmail(address string) error {
	a, err := mail.ParseAddress(address)
	if err != nil || a.Address != address || utf8.RuneCountInString(address) > emailMax {
		return bad("email", "must be an e-mail address of at most "+strconv.Itoa(emailMax)+" characters")
	}
	return nil
}
