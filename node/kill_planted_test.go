package main_test

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gavel-ads/gavel/node/nodetest"
)

// TestKillFindsPlantedFaults runs the crash test against a reference server, without a fault and with one fault at a
// time. A crash test that was never seen to fail proves nothing.
func TestKillFindsPlantedFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("kills real processes")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ fault, word string }{
		{"none", ""},
		{"acknowledges early", "acknowledged"},
		{"counts repeats", "reported"},
		{"forgets ids at restart", "LOST"},
		{"charges tokens twice", "DOUBLE CHARGE"},
		{"forgets to clip", "OVERSPEND"},
		{"replays differently", "state digests"},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			e := &failureRecorder{TB: t}
			e.run(func() {
				c := newCrash(e, 1, nodetest.Options{Binary: self, Env: []string{referenceFault + "=" + tc.fault}})
				c.replay = (*crash).startReference
				c.run(2)
			})
			text := e.text.String()
			if (text != "") != (tc.word != "") || !strings.Contains(text, tc.word) {
				t.Errorf("want %q, the crash test reported %q", tc.word, text)
			}
		})
	}
}

// startReference starts a reference server, which has no data directory, and reads the digest that it reports.
func (c *crash) startReference() (digests map[uint16]string, replayed uint64) {
	c.restart()
	resp, err := http.Get(c.node.ManageURL + "/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var group uint16
	var value string
	if _, err := fmt.Fscanf(resp.Body, "gavel_raft_state_digest{group=\"%d\"} %s", &group, &value); err != nil {
		c.t.Fatal(err)
	}
	if err := c.kill(); err != nil {
		c.t.Fatal(err)
	}
	return map[uint16]string{group: value}, 1
}

// failureRecorder is a testing.TB that records failures, so that another test can examine them.
type failureRecorder struct {
	testing.TB
	mu   sync.Mutex
	text strings.Builder
}

// run calls a function that may end its goroutine, as FailNow does.
func (e *failureRecorder) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (e *failureRecorder) Error(a ...any)                 { e.fail(fmt.Sprintln(a...)) }
func (e *failureRecorder) Errorf(format string, a ...any) { e.fail(fmt.Sprintf(format, a...)) }
func (e *failureRecorder) Fatal(a ...any)                 { e.Error(a...); e.FailNow() }
func (e *failureRecorder) Fatalf(format string, a ...any) { e.Errorf(format, a...); e.FailNow() }
func (e *failureRecorder) FailNow()                       { e.fail("\n"); runtime.Goexit() }

func (e *failureRecorder) Failed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.Len() > 0
}

func (e *failureRecorder) fail(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text.WriteString(text)
}
