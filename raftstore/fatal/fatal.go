// Package fatal ends the process when its storage can no longer be trusted. Nothing softer works: a raft leader whose
// disk hangs stays leader until its process is gone, and a storage engine that failed an fsync must not try again.
package fatal

import (
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ExitCode tells a supervisor that the node ended itself, most often because its storage failed; 70 is EX_SOFTWARE of sysexits.h.
const ExitCode = 70

// stacksBytesMax bounds the dump of all goroutines. BOUND: a node has some hundred goroutines of about 1 KB each.
const stacksBytesMax = 4 << 20

// logPatience is how long Now waits for the log. Who reads it may wait for the same disk: a process that waited for its reader would
// stay, and keep the leadership of its groups.
const logPatience = time.Second

// Exit is the single way out: every storage failure of a node ends in Now, and what else only the end of its process mends in NowWith.
//
// INVARIANT: Neither returns. Pebble assumes that of its logger's Fatalf, and raft must not see an error it could
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

// Now ends the process because its storage failed. It logs the reason, then the stacks of all goroutines, and ends the process, logged
// or not. One failure is reported once, by the first caller; in tests every caller comes to the exit.
func (e *Exit) Now(reason string, err error) {
	e.now(reason, "", err)
}

// NowWith is Now where storage is not to blame, with advice to who reads the log.
func (e *Exit) NowWith(reason, advice string, err error) { e.now(reason, advice, err) }

func (e *Exit) now(reason, advice string, err error) {
	e.once.Do(func() {
		e.over.Store(true)
		logged := make(chan struct{})
		go func() {
			defer close(logged)
			e.log(reason, advice, err)
		}()
		patience := time.NewTimer(logPatience)
		defer patience.Stop()
		select {
		case <-logged:
		case <-patience.C:
		}
	})
	e.exit(ExitCode)
	select {}
}

// log writes the reason first: it is short, so that it finds room in a pipe that nobody empties.
// The nemesis finds it by "the process ends". No advice is that for failed storage.
func (e *Exit) log(reason, advice string, err error) {
	if advice == "" {
		e.logger.Error("storage failed, the process ends; restart it, and rebuild the node if it does not come back",
			slog.String("reason", reason), slog.Any("err", err))
	} else {
		e.logger.Error("the process ends", slog.String("reason", reason), slog.String("advice", advice), slog.Any("err", err))
	}
	stacks := make([]byte, stacksBytesMax)
	stacks = stacks[:runtime.Stack(stacks, true)]
	e.logger.Error("what the process did when it ended", slog.String("stacks", string(stacks)))
}

// Over reports whether one of them was called: the process is gone, or would be outside of a test.
func (e *Exit) Over() bool { return e.over.Load() }
