package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The file that the help shows is rendered for each program; a file with a fault is not rendered at all.
func TestCellsRender(t *testing.T) {
	_, example, _ := strings.Cut(cellsRender{}.Help(), "\n\n")
	example, _, _ = strings.Cut(example, "\n\n")
	path := filepath.Join(t.TempDir(), "cells.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(example)
	for program, want := range map[string]string{
		"haproxy": "server n1 10.0.1.1:8080 port 8081", "nginx": "server 10.0.1.1:8080 ", "envoy": `{address: "10.0.1.1", port_value: 8080}`,
	} {
		if r := gavel(nil, "cells", "render", program, path); r.code != exitSuccess || !strings.Contains(r.out, want) {
			t.Errorf("%s: code %d, %s\n%s", program, r.code, r.err, r.out)
		}
	}
	write(strings.Replace(example, "Ab3dEf9h", "Ab3", 1))
	if r := gavel(nil, "cells", "render", "nginx", path); r.code != exitUsage || r.out != "" || !strings.Contains(r.err, "cells[0].keys[0]: want") {
		t.Errorf("code %d, printed %q and %q", r.code, r.out, r.err)
	}
	if r := gavel(nil, "cells", "render", "nginx", path+".none"); r.code != exitUsage || !strings.Contains(r.err, "no such file") {
		t.Errorf("without a file: code %d, %q", r.code, r.err)
	}
}
