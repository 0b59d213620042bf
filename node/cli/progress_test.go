package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A terminal shows how much of a file was read, and nothing of that when it is done; elsewhere nothing is printed.
func TestProgressOfAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, terminal := range []bool{true, false} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var shown bytes.Buffer
		reading, err := (&process{err: &shown, errTerminal: terminal}).reading(f, "restoring")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.ReadFull(reading, make([]byte, 1<<19)); n != 1<<19 || err != nil {
			t.Fatal(n, err)
		}
		reading.end()
		want := ""
		if terminal {
			want = "\rrestoring: 0.5 MiB of 1.0 MiB (50 %)"
		}
		if got, cleared := strings.CutSuffix(shown.String(), "\r\x1b[K"); got != want || cleared != terminal {
			t.Errorf("terminal %t: %q", terminal, &shown)
		}
	}
}
