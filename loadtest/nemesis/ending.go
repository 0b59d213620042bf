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

// ending is how a process came to its end: what it left as its status, and what it said last.
type ending struct {
	code   int    // -1: a signal.
	status string // In words.
	reason string // Why it ended itself, in its own words; empty: it said nothing of that.
	said   string // The end of its log, lines shortened.
}

// storageFailed is the exit code of a node that ended itself, as one whose storage failed.
const storageFailed = 70

// The reasons of a node that ends itself, by what a fault does to its disk. A node must end when its storage hangs or fails:
// only the end of its process frees the groups that it leads.
var (
	// A node may have to begin anew whatever is done to it: raft forgets the end of its log after a snapshot that does not reach it.
	anew  = []string{"a snapshot replaced more of the log than it holds"}
	hangs = []string{"disk is slow", "storage call does not return"}
	fails = []string{"pebble", "background write failed", "state cannot be written", "raft log cannot be written"}
)

// byDesign reports whether a node has to end like this when its disk does what these reasons are for.
func (e ending) byDesign(reasons []string) bool {
	return e.code == storageFailed && slices.Contains(reasons, e.reason)
}

// panicked reports whether the runtime ended the process.
func (e ending) panicked() bool {
	return strings.Contains(e.said, "    panic: ") || strings.Contains(e.said, "    fatal error: ")
}

func (e ending) String() string {
	return fmt.Sprintf("%s; it said last:\n%s", e.status, e.said)
}

// readEnding makes an ending from the state of a process and its log.
func readEnding(state *os.ProcessState, path string) ending {
	e := ending{code: -1, status: "no process"}
	if state != nil {
		e.code, e.status = state.ExitCode(), state.String()
	}
	text, err := lastLife(path)
	if err != nil {
		e.said = err.Error()
		return e
	}
	e.reason, e.said = lastWords(text)
	return e
}

// lastLife is what a process wrote since its start. BOUND: 16 MiB, as a dump of stacks has 4.
func lastLife(path string) ([]byte, error) {
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
	wordsMax = 12  // Lines of an ending.
	wordMax  = 400 // Bytes of each: what a line is about comes first, its stacks last.
)

// lastWords are the last lines of a log, or of a panic in it the first, and the reason of an end by itself among them.
func lastWords(text []byte) (reason, said string) {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	for _, line := range slices.Backward(lines) {
		var l struct{ Msg, Reason string }
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &l) == nil && l.Msg == "process_exiting" {
			reason = l.Reason
			break
		}
	}
	first := max(len(lines)-wordsMax, 0)
	if panicked := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
	}); panicked >= 0 {
		first = min(first, panicked)
	}
	lines = lines[first:min(first+wordsMax, len(lines))]
	for i, line := range lines {
		lines[i] = "    " + line[:min(len(line), wordMax)]
	}
	return reason, strings.Join(lines, "\n")
}
