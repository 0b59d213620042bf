package serving

import (
	"bytes"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gavel-ads/gavel/node/apierr"
)

// accessLinesMax bounds the lines of an AccessLog in a second. BOUND: an overloaded node has thousands of slow requests, and writing
// about all would make it slower.
const accessLinesMax = 100

// AccessLog writes requests to the log of the process: one of so many, and each that took long. It is safe for concurrent use. A nil
// AccessLog writes nothing and costs a comparison.
type AccessLog struct {
	every uint64        // One of so many requests is written; 0: none.
	slow  time.Duration // Requests that took so long are written; 0: none.
	log   *slog.Logger

	requests atomic.Uint64
	second   atomic.Int64 // The Unix second of lines.
	lines    atomic.Int64 // Written in this second, and those left out.
	left     atomic.Uint64
}

// NewAccessLog returns a log of one of every requests, and of those that took slow or longer. 0 turns either off, and nil is returned
// when both are.
func NewAccessLog(every int, slow time.Duration, log *slog.Logger) *AccessLog {
	if every <= 0 && slow <= 0 {
		return nil
	}
	return &AccessLog{every: uint64(max(every, 0)), slow: slow, log: log}
}

// AccessEntry is what is written about a request. It has neither body nor key, and no address of a person.
type AccessEntry struct {
	Operation, RequestID, Code string
	Status                     int
	Took                       time.Duration
	In, Out                    int // Bytes of the bodies.
}

// Due reports whether a request at a time that took so long is to be written. It counts the request and the line.
func (a *AccessLog) Due(now time.Time, took time.Duration) bool {
	if a == nil {
		return false
	}
	sampled := a.every > 0 && a.requests.Add(1)%a.every == 0
	if !sampled && !a.isSlow(took) {
		return false
	}
	if s := now.Unix(); a.second.Swap(s) != s {
		a.lines.Store(0)
	}
	if a.lines.Add(1) > accessLinesMax {
		a.left.Add(1)
		return false
	}
	return true
}

func (a *AccessLog) isSlow(took time.Duration) bool { return a.slow > 0 && took >= a.slow }

// Write writes one line: at level warn for a slow request, else info.
func (a *AccessLog) Write(e *AccessEntry) {
	write, message := a.log.Info, "request"
	if a.isSlow(e.Took) {
		write, message = a.log.Warn, "slow_request"
	}
	attributes := []any{
		slog.String("operation", e.Operation), slog.Int("status", e.Status), slog.Duration("took", e.Took), slog.String("request_id", e.RequestID),
		slog.Int("body_bytes", e.In), slog.Int("answer_bytes", e.Out),
	}
	if e.Code != "" {
		attributes = append(attributes, slog.String("code", e.Code))
	}
	if left := a.left.Swap(0); left > 0 {
		attributes = append(attributes, slog.Uint64("left_out_before", left))
	}
	write(message, attributes...)
}

// logged writes the request that was answered, if it is due.
func (sc *Scratch) logged(took time.Duration) {
	a := sc.core.Access
	if !a.Due(sc.Request.Now, took) {
		return
	}
	e := AccessEntry{
		Operation: sc.op.String(), Status: sc.Status, Took: took, In: len(sc.Request.Body), Out: len(sc.Body),
	}
	if sc.code != apierr.OK {
		e.Code = sc.code.String()
	}
	for _, f := range sc.Fields {
		if bytes.Equal(f.Name, nameRequestID) {
			e.RequestID = string(f.Value)
		}
	}
	a.Write(&e)
}
