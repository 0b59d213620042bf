// Package sources lets the result of a test depend on files that only a process reads which the test starts.
//
// Go takes the result of a test from its cache as long as the test binary, the environment variables that it read and the files of
// the module that it opened or asked the state of are the same. What a go build, go list or git that it runs has read is not among
// them: such a test said "(cached)" after any change of what it tests. So it opens those files here, itself.
//
// A directory is asked for its state, not read: a file that comes, goes or is replaced changes the time of the directory, and reading
// it would make the result depend on the time of every file beside.
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

// built is what go list says of a package that is built into another one.
type built struct {
	Dir                                   string
	Module                                *module
	GoFiles, CgoFiles, SFiles, EmbedFiles []string
}

type module struct {
	Main  bool
	GoMod string
}

// Build makes the result of a test depend on what is built into packages of its module: their own files, those of all packages
// of the module that they import, and the list of modules.
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
		var p built
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if p.Module == nil || !p.Module.Main { // Its version stands in go.mod.
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

// File makes the result of a test depend on a file. One that is not there is no error: the result depends on that.
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
