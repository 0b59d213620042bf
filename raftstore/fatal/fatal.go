// Package fatal ends the process when its storage can no longer be trusted. Nothing softer works: a raft leader whose
// disk hangs stays leader until its process is gone, and a storage engine that failed an fsync must not try again.
package fatal

import (
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// ExitCode tells a supervisor that the storage failed; 70 is EX_SOFTWARE of sysexits.h.
const ExitCode = 70

// stacksBytesMax bounds the dump of all goroutines. BOUND: a node has some hundred goroutines of about 1 KB each.
const stacksBytesMax = 4 << 20

// Exit is the single way out: every storage failure of a node ends in Now.
//
// INVARIANT: Now does not return. Pebble assumes that of its logger's Fatalf, and raft must not see an error it could
// retry: a retry after a failed fsync can succeed falsely. Where exit returns, as it may in tests, the calling goroutine
// stops for ever, as in a process that is gone.
type Exit struct {
	logger *slog.Logger
	exit   func(code int)
	once   sync.Once
	over   atomic.Bool
}

// NewExit returns the way out. A nil exit is os.Exit.
func NewExit(logger *slog.Logger, exit func(code int)) *Exit {
	if exit == nil {
		exit = os.Exit
	}
	return &Exit{logger: logger, exit: exit}
}

// Now logs the reason with the stacks of all goroutines and ends the process. One failure is reported once, by the first
// caller; in tests every caller comes to the exit.
func (e *Exit) Now(reason string, err error) {
	e.once.Do(func() {
		e.over.Store(true)
		stacks := make([]byte, stacksBytesMax)
		stacks = stacks[:runtime.Stack(stacks, true)]
		e.logger.Error("storage failed, the process ends; restart it, and rebuild the node if it does not come back",
			slog.String("reason", reason), slog.Any("err", err), slog.String("stacks", string(stacks)))
	})
	e.exit(ExitCode)
	select {}
}

// Over reports whether Now was called: the process is gone, or would be outside of a test.
func (e *Exit) Over() bool { return e.over.Load() }
