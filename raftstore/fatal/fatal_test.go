package fatal

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// blocked is a log whose reader hangs when some lines are written.
type blocked struct {
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
	return b.text.Write(p)
}

// The process ends soon, whether anybody reads its log or not, and the reason comes before the stacks.
func TestExitDoesNotWaitForTheLog(t *testing.T) {
	for _, tc := range []struct {
		lines  int
		within time.Duration
	}{{0, logPatience}, {1, logPatience}, {2, 0}} {
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
			if took := time.Since(began); code != ExitCode || took != tc.within || !exit.Over() {
				t.Errorf("a log that takes %d lines: code %d after %s", tc.lines, code, took)
			}
			if tc.lines == 0 {
				return
			}
			first, rest, _ := strings.Cut(log.text.String(), "\n")
			if !strings.Contains(first, "storage call does not return") || strings.Contains(first, "stacks") ||
				(tc.lines == 2) != strings.Contains(rest, "goroutine") {
				t.Errorf("a log that takes %d lines has %.200q, then %.200q", tc.lines, first, rest)
			}
		})
	}
}
