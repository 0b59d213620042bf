package daemon

import (
	"io"
	"sync"
)

// screen is a terminal with the log and, below it, one line that shows the progress of long work. It keeps the routine
// lines of a start until the addresses of the node are printed, because these are what a person looks for. The nil screen
// shows nothing. It is safe for concurrent use.
type screen struct {
	w io.Writer

	mu       sync.Mutex
	progress string // Shown now; empty: none.
	holding  bool
	held     [][]byte
}

// heldMax bounds the kept lines. BOUND: a start logs a dozen; more are shown at once.
const heldMax = 100

// clearLine moves the cursor to the begin of its line and clears it.
const clearLine = "\r\x1b[K"

func newScreen(w io.Writer) *screen { return &screen{w: w, holding: true} }

// log shows a line, which ends with a line feed. A line that is not urgent may be kept until release.
func (s *screen) log(line []byte, urgent bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holding && !urgent && len(s.held) < heldMax {
		s.held = append(s.held, append([]byte(nil), line...))
		return nil
	}
	return s.write(line)
}

// write shows a line above the progress. LOCKS: mu is held.
func (s *screen) write(line []byte) error {
	text := line
	if s.progress != "" {
		text = append(append([]byte(clearLine), line...), s.progress...)
	}
	_, err := s.w.Write(text)
	return err
}

// release shows the kept lines and keeps none from now on.
func (s *screen) release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = false
	for _, line := range s.held {
		_ = s.write(line) // A log line that cannot be written is lost, as it is without a screen.
	}
	s.held = nil
}

// show replaces the line of progress; an empty text removes it.
func (s *screen) show(text string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == s.progress {
		return
	}
	s.progress = text
	_, _ = io.WriteString(s.w, clearLine+text) // It only informs.
}
