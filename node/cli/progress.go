package cli

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progressInterval is the shortest time between two prints of a progress.
const progressInterval = time.Second / 4

// progress counts the bytes that go to or come from a file, and prints the count on a terminal.
type progress struct {
	from  io.Reader // What is read, or nil.
	into  io.Writer // What is written to, or nil.
	to    io.Writer // The terminal.
	shown bool      // to is a terminal.
	what  string    // What is being done.
	total int64     // Bytes of the whole file; 0: unknown.
	n     int64
	last  time.Time
}

// reading returns a reader of a file that shows how much of it was read.
func (p *process) reading(f *os.File, what string) (*progress, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &progress{from: f, to: p.err, shown: p.errTerminal, what: what, total: info.Size()}, nil
}

// Write writes to the file and counts.
func (g *progress) Write(b []byte) (int, error) {
	n, err := g.into.Write(b)
	g.count(n)
	return n, err
}

// Read reads from the file and counts.
func (g *progress) Read(b []byte) (int, error) {
	n, err := g.from.Read(b)
	g.count(n)
	return n, err
}

// reached counts up to a position of the file, which something else reads.
func (g *progress) reached(position int64) { g.count(int(position - g.n)) }

func (g *progress) count(n int) {
	g.n += int64(n)
	now := time.Now()
	if !g.shown || now.Sub(g.last) < progressInterval {
		return
	}
	g.last = now
	fmt.Fprintf(g.to, "\r%s: %.1f MiB", g.what, float64(g.n)/(1<<20))
	if g.total > 0 {
		fmt.Fprintf(g.to, " of %.1f MiB (%d %%)", float64(g.total)/(1<<20), 100*g.n/g.total)
	}
}

// end clears the line of the terminal.
func (g *progress) end() {
	if g.shown {
		fmt.Fprint(g.to, "\r\x1b[K")
	}
}
