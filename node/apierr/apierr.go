// Package apierr defines every error code of the API once: the errCode that a client reads, its HTTP status, its default message, and
// the error object of /v2. No other package chooses the status code of a refusal.
package apierr

import "net/http"

// Error is a refused request. If Message is empty, the default message of the code is used.
type Error struct {
	Code    Code
	Message string
}

// Error returns the errCode and the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.String() + ": " + e.Code.Message()
	}
	return e.Code.String() + ": " + e.Message
}

// New returns the refusal with the code's default message, or with message if it is not empty.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// String returns the errCode.
func (c Code) String() string { return c.row().errCode }

// Status returns the HTTP status that the code is answered with, and 200 for OK.
func (c Code) Status() int { return c.row().status }

// Message returns the code's default text: one English sentence without the final stop.
func (c Code) Message() string { return c.row().message }

// Reason returns the reason phrase of the code's status, the member error of the error object.
func (c Code) Reason() string {
	if c == RequestCanceled {
		return "Client Closed Request" // 499 is nginx's number; net/http has no phrase for it.
	}
	return http.StatusText(c.Status())
}

// row returns the table's row of a code. A code out of range is a defect, so it reads as InternalServerError.
func (c Code) row() *row {
	if int(c) >= len(table) {
		c = InternalServerError
	}
	return &table[c]
}
