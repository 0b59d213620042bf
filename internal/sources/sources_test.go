package sources_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The result of a test that calls Build comes from the cache until a file changes that is built in.
func TestTheCacheSeesWhatIsBuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds tests")
	}
	self, err := os.ReadFile("sources.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// Files that are younger than two seconds are never taken from the cache.
	old := time.Now().Add(-time.Hour)
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		old = old.Add(time.Second)
		for _, at := range []string{path, filepath.Dir(path)} {
			if err := os.Chtimes(at, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("go.mod", "module m\n\ngo 1.26\n")
	put("sources/sources.go", string(self))
	put("product/main.go", "package main\n\nimport \"m/part\"\n\nfunc main() { part.Do() }\n")
	put("part/part.go", "package part\n\nfunc Do() {}\n")
	put("other/other.go", "package other\n")
	put("tested/tested_test.go", "package tested\n\nimport (\n\t\"testing\"\n\n\t\"m/sources\"\n)\n\n"+
		"func Test(t *testing.T) { sources.Build(t, \"m/product\") }\n")
	cached := func() bool {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", "test", "-trimpath", "-vet=off", "./tested")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Contains(string(out), "(cached)")
	}
	cached()
	for _, step := range []struct {
		name, file, text string
		want             bool
	}{
		{"nothing changed", "", "", true},
		{"a package changed that is not built in", "other/other.go", "package other\n\nconst C = 1\n", true},
		{"a package changed that the product imports", "part/part.go", "package part\n\nfunc Do() { println() }\n", false},
		{"nothing changed after that", "", "", true},
		{"a file came", "part/more.go", "package part\n", false},
		{"the product changed", "product/main.go", "package main\n\nfunc main() {}\n", false},
		{"the modules changed", "go.mod", "module m\n\ngo 1.26\n\n// More.\n", false},
	} {
		if step.file != "" {
			put(step.file, step.text)
		}
		if got := cached(); got != step.want {
			t.Errorf("%s: cached is %v", step.name, got)
		}
	}
}
