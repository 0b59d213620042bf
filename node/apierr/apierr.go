// Package apierr is the one home of the API's error codes: the errCode a client reads, the HTTP status it comes with, the
// default text, and the error object of /v2. Nothing else in the tree knows a status code of a refusal.
package apierr

import "net/http"

// Error is a refusal on its way to the door. Message is empty where the code's own text says enough.
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

// row guards the table: a code out of range is a defect and reads as one.
func (c Code) row() *row {
	if int(c) >= len(table) {
		c = InternalServerError
	}
	return &table[c]
}
