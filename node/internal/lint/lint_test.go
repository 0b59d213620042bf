package lint

import (
	"os"
	"path/filepath"
	"testing"
)

// root is the repository, seen from this package.
const root = "../../.."

// TestLaw holds the repository to the law.
func TestLaw(t *testing.T) {
	packages, err := list(root, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) == 0 {
		t.Fatal("go list found no package: the law was not read to anybody")
	}
	for _, p := range packages {
		if p.Error != nil {
			t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		if _, err := os.Stat(p.Dir); err != nil { // A new file there has to run the test again, which go list reads, not we.
			t.Error(err)
		}
	}
	report := func(name string, found []Finding, err error) {
		t.Run(name, func(t *testing.T) {
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				t.Error(f)
			}
		})
	}
	report("walls", Walls(packages), nil)
	docs, err := Docs(packages)
	report("package comments", docs, err)
	pure, err := Purity(root, "./shard/...")
	report("purity of the engine", pure, err)
	drops, err := Drops(root, "./raftstore/...")
	report("errors of the disk", drops, err)
	copies, err := Checkpoints(root, packages)
	report("checkpoints of a database", copies, err)
	text, err := Text(root)
	report("text", text, err)
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	report("pins", Pins(gomod), err)
}
