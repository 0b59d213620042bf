//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// ending is how a process ended: its status, and the end of its log.
type ending struct {
	code   int    // The exit code; -1: a signal ended it.
	status string // The exit status in words.
	reason string // The reason that it logged when it ended itself; empty: none.
	logEnd string // The end of its log, with shortened lines.
}

// storageFailed is the exit code of a node that ended itself because its storage failed or hung.
const storageFailed = 70

// The reasons that a node logs when it ends itself, by what a fault does to its disk. A node must end itself when its storage hangs or
// fails, because only the end of its process frees the groups that it leads.
var (
	// restartReasons are allowed without a fault: raft forgets the end of its log after it installs a snapshot that ends before it, so the
	// process has to start anew.
	restartReasons = []string{"a snapshot replaced more of the log than it holds"}
	hangReasons    = []string{"disk is slow", "storage call does not return"}
	failureReasons = []string{"pebble", "background write failed", "state cannot be written", "raft log cannot be written"}
)

// byDesign reports whether the node ended itself for one of these reasons.
func (e ending) byDesign(reasons []string) bool {
	return e.code == storageFailed && slices.Contains(reasons, e.reason)
}

// panicked reports whether the Go runtime ended the process.
func (e ending) panicked() bool {
	return strings.Contains(e.logEnd, "    panic: ") || strings.Contains(e.logEnd, "    fatal error: ")
}

func (e ending) String() string {
	return fmt.Sprintf("%s; the end of its log:\n%s", e.status, e.logEnd)
}

// readEnding makes an ending from the state of a process, nil when it never ran, and the file of its log.
func readEnding(state *os.ProcessState, path string) ending {
	e := ending{code: -1, status: "no process"}
	if state != nil {
		e.code, e.status = state.ExitCode(), state.String()
	}
	text, err := lastRunLog(path)
	if err != nil {
		e.logEnd = err.Error()
		return e
	}
	e.reason, e.logEnd = lastLines(text)
	return e
}

// lastRunLog is what a process wrote since its start. BOUND: the last 16 MiB; a dump of stacks has up to 4.
func lastRunLog(path string) ([]byte, error) {
	const most = 16 << 20
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(info.Size()-most, 0), most))
	if at := bytes.LastIndex(text, []byte("---- nemesis: start at ")); at >= 0 {
		text = text[at:]
	}
	return text, errors.Join(err, f.Close())
}

const (
	logLinesMax = 12  // BOUND: lines of an ending.
	logLineMax  = 400 // BOUND: bytes of each line; its message comes first, its stacks last.
)

// lastLines returns the last lines of a log, or the first lines of a panic in it, and the reason that the process logged when it ended
// itself.
func lastLines(text []byte) (reason, said string) {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for _, line := range slices.Backward(lines) {
		var l struct{ Msg, Reason string }
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &l) == nil && l.Msg == "process_exiting" {
			reason = l.Reason
			break
		}
	}
	first := max(len(lines)-logLinesMax, 0)
	if panicked := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	}); panicked >= 0 {
		first = min(first, panicked)
	}
	lines = lines[first:min(first+logLinesMax, len(lines))]
	for i, line := range lines {
		lines[i] = "    " + line[:min(len(line), logLineMax)]
	}
	return reason, strings.Join(lines, "\n")
}
