// Package fatal ends the process when its storage can no longer be trusted. Nothing softer works: a Raft leader whose
// disk hangs stays leader until its process is gone, and a storage engine that failed an fsync must not try again. The
// package holds the one exit, the watchdog over storage calls, and Pebble's logger and event listener.
package fatal

import (
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ExitCode is the exit code of a node that ended itself, most often because its storage failed; 70 is EX_SOFTWARE of
// sysexits.h.
const ExitCode = 70

// stacksBytesMax bounds the dump of all goroutines. BOUND: a node has some hundred goroutines of about 1 KB each.
const stacksBytesMax = 4 << 20

// logWaitMax is how long an exit waits until its log lines are written. The reader of the log may wait for the same
// disk: a process that waited for it would stay, and keep the leadership of its groups.
const logWaitMax = time.Second

// Exit is the single way to end the process: every storage failure of a node ends in Now, and every other state that
// only a new process repairs in NowWithAdvice.
//
// INVARIANT: neither returns. Pebble assumes that of its logger's Fatalf, and Raft must not see an error that it could
// retry: a retry after a failed fsync can succeed falsely. Where the exit function returns, as it may in tests, the
// calling goroutine stops for ever, as in a process that is gone.
type Exit struct {
	logger *slog.Logger
	exit   func(code int)
	once   sync.Once
	ended  atomic.Bool
}

// NewExit returns an Exit that calls exit with ExitCode. A nil exit is os.Exit.
func NewExit(logger *slog.Logger, exit func(code int)) *Exit {
	if exit == nil {
		exit = os.Exit
	}
	return &Exit{logger: logger, exit: exit}
}

// Now ends the process because its storage failed. It logs the reason, then the stacks of all goroutines, and ends the
// process, whether they are logged or not. One failure is logged once, by the first caller; in tests every caller
// reaches the exit function.
func (e *Exit) Now(reason string, err error) {
	e.now(reason, "", err)
}

// NowWithAdvice is Now for an end that storage did not cause; advice tells the reader of the log what to do.
func (e *Exit) NowWithAdvice(reason, advice string, err error) { e.now(reason, advice, err) }

func (e *Exit) now(reason, advice string, err error) {
	e.once.Do(func() {
		e.ended.Store(true)
		logged := make(chan struct{})
		go func() {
			defer close(logged)
			e.log(reason, advice, err)
		}()
		timeout := time.NewTimer(logWaitMax)
		defer timeout.Stop()
		select {
		case <-logged:
		case <-timeout.C:
		}
	})
	e.exit(ExitCode)
	select {}
}

// log writes the reason first: it is short, so that it fits into a pipe that nobody empties. loadtest/nemesis and
// loadtest/hostile find the line by its message. An empty advice is replaced by that for failed storage.
func (e *Exit) log(reason, advice string, err error) {
	if advice == "" {
		advice = "storage failed: restart the process, and rebuild the node if it does not start"
	}
	e.logger.Error("process_exiting", slog.String("reason", reason), slog.String("advice", advice), slog.Any("err", err))
	stacks := make([]byte, stacksBytesMax)
	stacks = stacks[:runtime.Stack(stacks, true)]
	e.logger.Error("goroutine_stacks", slog.String("stacks", string(stacks)))
}

// Ended reports whether Now or NowWithAdvice was called: the process is gone, or would be outside of a test.
func (e *Exit) Ended() bool { return e.ended.Load() }
