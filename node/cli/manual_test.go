package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command has a manual page, and the page of serve has every setting.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	p := &process{out: io.Discard, err: t.Output()}
	if code := p.run([]string{"manual", dir}); code != exitSuccess {
		t.Fatalf("exit code %d", code)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, part := range []string{".SH NAME\ngavel\\-serve \\- Run a node", ".SH SYNOPSIS\ngavel serve", `\-\-auction\-tls\-certificate=FILE`, "[GAVEL_DATA_DIR]"} {
		if !strings.Contains(read("gavel-serve.1"), part) {
			t.Errorf("gavel-serve.1 misses %q", part)
		}
	}
	if overview := read("gavel.1"); !strings.Contains(overview, "gavel keys create") || strings.Contains(overview, "gavel manual") {
		t.Errorf("gavel.1 must list the commands, but not hidden ones:\n%s", overview)
	}
	if got := roff(".a\\b\n'c-d"); got != "\\&.a\\eb\n\\&'c\\-d" {
		t.Errorf("escaped %q", got)
	}
}
