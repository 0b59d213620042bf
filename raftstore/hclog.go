package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"slices"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// hcLog is Raft's logger on slog. Raft reports its normal work at info level, so info becomes debug; warnings and
// errors stay.
type hcLog struct {
	slog *slog.Logger
	name string
	args []any
}

var _ hclog.Logger = (*hcLog)(nil)

func newHCLog(s *slog.Logger) *hcLog { return &hcLog{slog: s, name: "raft"} }

func slogLevel(l hclog.Level) slog.Level {
	switch {
	case l >= hclog.Error:
		return slog.LevelError
	case l == hclog.Warn:
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

// Log writes a message with alternating names and values.
func (h *hcLog) Log(level hclog.Level, msg string, args ...any) {
	switch {
	case msg == newerTerm, slices.ContainsFunc(args, closedHere):
		level = hclog.Debug
	case slices.ContainsFunc(args, closedByPeer):
		level = min(level, hclog.Warn)
	}
	if level == hclog.Off || !h.slog.Enabled(context.Background(), slogLevel(level)) {
		return
	}
	attrs := make([]slog.Attr, 0, 2+len(args)/2)
	attrs = append(attrs, slog.String("text", msg))
	for i := 0; i+1 < len(args); i += 2 {
		attrs = append(attrs, slog.String(fmt.Sprint(args[i]), text(args[i+1])))
	}
	h.slog.LogAttrs(context.Background(), slogLevel(level), h.name, attrs...)
}

// newerTerm is reported by a leader, as an error, when a follower follows a newer leader: the ordinary end of a leadership
// that was transferred.
const newerTerm = "peer has newer term, stopping replication"

// closedHere reports whether v is the error of a connection that this node closed itself, or did not open any more. Raft reports one for every
// connection when a node stops, as an error.
func closedHere(v any) bool {
	err, ok := v.(error)
	if !ok {
		return false
	}
	return isAny(err, net.ErrClosed, context.Canceled, raft.ErrTransportShutdown, raft.ErrRaftShutdown)
}

// closedByPeer reports whether v is the error of a connection that a peer closed. Peers stop and start; that they are
// missing for longer is reported by their leaders.
func closedByPeer(v any) bool {
	err, ok := v.(error)
	return ok && isAny(err, syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNREFUSED, io.EOF)
}

// isAny reports whether an error is one of others, or wraps one: with Unwrap, or with Cause, as go-msgpack does, with which Raft
// reads from connections.
func isAny(err error, others ...error) bool {
	for err != nil {
		for _, other := range others {
			if errors.Is(err, other) {
				return true
			}
		}
		var caused interface{ Cause() error }
		if !errors.As(err, &caused) {
			return false
		}
		err = caused.Cause()
	}
	return false
}

func text(v any) string {
	if f, ok := v.(hclog.Format); ok && len(f) > 0 {
		if layout, ok := f[0].(string); ok {
			return fmt.Sprintf(layout, f[1:]...)
		}
	}
	return fmt.Sprint(v)
}

func (h *hcLog) Trace(msg string, args ...any) { h.Log(hclog.Trace, msg, args...) }
func (h *hcLog) Debug(msg string, args ...any) { h.Log(hclog.Debug, msg, args...) }
func (h *hcLog) Info(msg string, args ...any)  { h.Log(hclog.Info, msg, args...) }
func (h *hcLog) Warn(msg string, args ...any)  { h.Log(hclog.Warn, msg, args...) }
func (h *hcLog) Error(msg string, args ...any) { h.Log(hclog.Error, msg, args...) }

func (h *hcLog) enabled(l hclog.Level) bool {
	return h.slog.Enabled(context.Background(), slogLevel(l))
}

func (h *hcLog) IsTrace() bool { return h.enabled(hclog.Trace) }
func (h *hcLog) IsDebug() bool { return h.enabled(hclog.Debug) }
func (h *hcLog) IsInfo() bool  { return h.enabled(hclog.Info) }
func (h *hcLog) IsWarn() bool  { return h.enabled(hclog.Warn) }
func (h *hcLog) IsError() bool { return h.enabled(hclog.Error) }

func (h *hcLog) ImpliedArgs() []any { return h.args }

// With returns a logger that adds names and values.
func (h *hcLog) With(args ...any) hclog.Logger {
	var attrs []any
	for i := 0; i+1 < len(args); i += 2 {
		attrs = append(attrs, slog.String(fmt.Sprint(args[i]), text(args[i+1])))
	}
	return &hcLog{slog: h.slog.With(attrs...), name: h.name, args: append(slices.Clip(h.args), args...)}
}

func (h *hcLog) Name() string { return h.name }

// Named returns a logger whose name has another part.
func (h *hcLog) Named(name string) hclog.Logger {
	return &hcLog{slog: h.slog, name: h.name + "." + name, args: h.args}
}

// ResetNamed returns a logger with another name.
func (h *hcLog) ResetNamed(name string) hclog.Logger {
	return &hcLog{slog: h.slog, name: name, args: h.args}
}

// SetLevel does nothing: the slog handler decides.
func (h *hcLog) SetLevel(hclog.Level) {}

// GetLevel is the most verbose level that the handler accepts.
func (h *hcLog) GetLevel() hclog.Level {
	switch {
	case h.IsDebug():
		return hclog.Debug
	case h.IsWarn():
		return hclog.Warn
	default:
		return hclog.Error
	}
}

// StandardLogger returns a log.Logger that writes warnings.
func (h *hcLog) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(h.StandardWriter(nil), "", 0)
}

// StandardWriter returns a writer of warnings.
func (h *hcLog) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return lineWriter{h} }

type lineWriter struct{ h *hcLog }

func (w lineWriter) Write(b []byte) (int, error) {
	w.h.Warn(string(b))
	return len(b), nil
}
