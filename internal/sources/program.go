package sources

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
)

// Program builds a main package into a file, and makes the result of the test depend on its sources.
func Program(t testing.TB, pkg, file string) {
	t.Helper()
	Build(t, pkg)
	if err := Link(t.Context(), pkg, file); err != nil {
		t.Fatal(err)
	}
}

// Link builds a main package into a file.
//
// go run keeps the program that it links in the cache of Go, which go build does not, and linking the node takes longer than
// most tests that need it. So cp runs instead of the program, and gets its path and that of the copy.
func Link(ctx context.Context, pkg, file string) error {
	if text, err := exec.CommandContext(ctx, "go", "run", "-exec", "cp", pkg, file).CombinedOutput(); err != nil {
		return fmt.Errorf("go run %s: %w\n%s", pkg, err, text)
	}
	return nil
}
