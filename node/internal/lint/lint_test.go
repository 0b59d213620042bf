package lint

import (
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"testing"
)

// root is the repository, seen from this package.
const root = "../../.."

// pendingFile counts what older text still breaks of the rules about language.
const pendingFile = "testdata/pending.txt"

var (
	rewrite = flag.Bool("rewrite", false, "lower the counts of "+pendingFile+" to what is left")
	show    = flag.String("show", "", "list the pending places of this directory, such as shard/market")
)

// TestRules checks the repository against every rule.
func TestRules(t *testing.T) {
	packages, err := list(root, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) == 0 {
		t.Fatal("go list found no package to check")
	}
	for _, p := range packages {
		if p.Error != nil {
			t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		if _, err := os.Stat(p.Dir); err != nil { // go list reads the directory and this process does not: asking for its state makes a new file invalidate a cached result.
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
	report("imports", CheckImports(packages), nil)
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

// languageRules are the rules that accept the places counted in pendingFile.
var languageRules = map[string]func(root string) ([]Finding, error){
	"word": Words, "line-width": Widths, "design-length": Designs, "test-name": TestNames,
}

// TestLanguage checks names, comments, messages and documents. The places that pendingFile counts are accepted; a count may only fall.
func TestLanguage(t *testing.T) {
	text, err := os.ReadFile(pendingFile)
	if err != nil {
		t.Fatal(err)
	}
	pending, err := ReadPending(text)
	if err != nil {
		t.Fatalf("%s: %v", pendingFile, err)
	}
	for rule := range pending {
		if languageRules[rule] == nil {
			t.Errorf("%s counts places of the rule %q, which does not exist", pendingFile, rule)
		}
	}
	next := maps.Clone(pending) // A rule that -run leaves out keeps its counts.
	for rule, check := range languageRules {
		t.Run(rule, func(t *testing.T) {
			found, err := check(root)
			if err != nil {
				t.Fatal(err)
			}
			faults, left := pending[rule].Compare(found)
			next[rule] = left
			for _, f := range faults {
				if f.Rule != "pending" || !*rewrite {
					t.Error(f)
				}
			}
			for _, f := range found {
				if *show != "" && path.Dir(f.Where) == *show {
					t.Log(f)
				}
			}
		})
	}
	if *rewrite {
		const head = "# Places that break a rule about language and are accepted for now: rule, directory, count.\n" +
			"# Counts only fall; go test ./node/internal/lint -rewrite lowers them, -show=DIRECTORY lists the places.\n"
		if err := os.WriteFile(pendingFile, AppendPending([]byte(head), next), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
