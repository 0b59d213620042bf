package fatal

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// blocked is a log whose reader hangs after some lines.
type blocked struct {
	mu    sync.Mutex
	lines int
	text  bytes.Buffer
	never chan struct{}
}

func (b *blocked) Write(p []byte) (int, error) {
	if b.lines == 0 {
		<-b.never
		return len(p), nil
	}
	b.lines--
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// taken returns what was written.
func (b *blocked) taken() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// The process ends soon, whether its log is read or not, and the reason comes before the stacks.
func TestExitDoesNotWaitForTheLog(t *testing.T) {
	for _, tc := range []struct {
		lines  int
		within time.Duration
	}{{0, logWaitMax}, {1, logWaitMax}, {2, 0}} {
		synctest.Test(t, func(t *testing.T) {
			log := &blocked{lines: tc.lines, never: make(chan struct{})}
			defer close(log.never)
			code := 0
			exit := NewExit(slog.New(slog.NewJSONHandler(log, nil)), func(c int) { code = c; panic("ended") })
			began := time.Now()
			func() {
				defer func() { _ = recover() }()
				exit.Now("storage call does not return", errors.New("StoreLogs is old"))
			}()
			if took := time.Since(began); code != ExitCode || took != tc.within || !exit.Ended() {
				t.Errorf("a log that takes %d lines: code %d after %s", tc.lines, code, took)
			}
			if tc.lines == 0 {
				return
			}
			first, rest, _ := strings.Cut(log.taken(), "\n")
			if !strings.Contains(first, "storage call does not return") || strings.Contains(first, "stacks") ||
				(tc.lines == 2) != strings.Contains(rest, "goroutine") {
				t.Errorf("a log that takes %d lines has %.200q, then %.200q", tc.lines, first, rest)
			}
		})
	}
}

// The advice fits the reason: a process that runs on a copy of a directory is not advised to rebuild anything.
func TestAdviceFitsTheReason(t *testing.T) {
	for _, tc := range []struct {
		end        func(e *Exit)
		has, lacks string
	}{
		{func(e *Exit) { e.Now("disk is slow", nil) }, `"msg":"process_exiting","reason":"disk is slow","advice":"storage failed: restart the process`, "copy"},
		{func(e *Exit) { e.NowWithAdvice("a copy", "stop the copy", nil) }, `"msg":"process_exiting","reason":"a copy","advice":"stop the copy"`, "rebuild"},
	} {
		log := &blocked{lines: 1, never: make(chan struct{})}
		close(log.never)
		exit := NewExit(slog.New(slog.NewJSONHandler(log, nil)), func(int) { panic("ended") })
		func() {
			defer func() { _ = recover() }()
			tc.end(exit)
		}()
		if got := log.taken(); !strings.Contains(got, tc.has) || strings.Contains(got, tc.lacks) || !exit.Ended() {
			t.Errorf("the log says %s", got)
		}
	}
}
