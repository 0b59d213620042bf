// Package sources makes the result of a test depend on files that only a process reads which the test starts.
//
// Go takes the result of a test from its cache as long as the test binary, the environment variables that it read, and the
// files of the module that it opened or examined are the same. Files that a go build, go list or git command reads are
// not among them, so such a test would say "(cached)" after any change of what it tests. This package opens those files
// in the test process.
//
// Of a directory only the state is examined: it changes when a file is added, removed or replaced. Reading the directory
// would make the result depend on the times of all its files.
package sources

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// builtPackage is what go list reports about a package.
type builtPackage struct {
	Dir                                   string
	Module                                *module
	GoFiles, CgoFiles, SFiles, EmbedFiles []string
}

type module struct {
	Main  bool
	GoMod string
}

// Build makes the result of a test depend on what is built into packages of its module: their own files, those of all
// packages of the module that they import, and go.mod and go.sum.
func Build(t testing.TB, packages ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-json=Dir,Module,GoFiles,CgoFiles,SFiles,EmbedFiles"}, packages...)...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, complaint.String())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p builtPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if p.Module == nil || !p.Module.Main { // go.mod has its version.
			continue
		}
		File(t, p.Module.GoMod)
		File(t, filepath.Join(filepath.Dir(p.Module.GoMod), "go.sum"))
		if _, err := os.Stat(p.Dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.SFiles, p.EmbedFiles) {
			File(t, filepath.Join(p.Dir, name))
		}
	}
}

// File makes the result of a test depend on a file. A missing file is no error: the result depends on its absence.
func File(t testing.TB, name string) {
	t.Helper()
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
