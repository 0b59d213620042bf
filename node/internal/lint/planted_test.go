package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A rule that finds nothing may be broken, so each test here plants the faults that a rule is for.
func TestCheckImportsFindsPlantedImports(t *testing.T) {
	breach := func(from, to string, deep bool) {
		t.Helper()
		p := &Package{ImportPath: Module + "/" + from, Imports: []string{to}, Deps: []string{to}}
		if deep {
			p.Imports = nil
		}
		if found := CheckImports([]*Package{p}); len(found) == 0 {
			t.Errorf("%s may import %s (indirectly: %t)", from, to, deep)
		}
	}
	breach("shard/auction", "net/http", false)
	breach("shard/auction", "os", false)
	breach("shard", "log/slog", false)
	breach("shard/market", "math/rand/v2", false)
	breach("shard/market", Module+"/shard", false)
	breach("shard/market", Module+"/shard/shardtest", false)
	breach("shard/pacing", Module+"/shard/market", false)
	breach("shard", Module+"/raftstore", true)
	breach("shard/ledger", Module+"/node/apierr", true)
	breach("shard/ledger", "github.com/cockroachdb/pebble/v2", true)
	breach("raftstore", Module+"/shard/command", true)
	breach("raftstore/transport", Module+"/node/config", true)
	breach("raftstore/membership", Module+"/raftstore", false)
	breach("raftstore/diskspace", Module+"/raftstore/leadership", true)
	breach("raftstore/forward", Module+"/raftstore/membership", true)
	breach("raftstore/backup", Module+"/raftstore/statedb", true)
	breach("node/store", Module+"/raftstore", false)
	breach("node", Module+"/node/daemon", false)
	breach("node/config", Module+"/shard/money", false)
	breach("node/serving", "github.com/valyala/fasthttp", true)
	breach("node/serving", Module+"/node/manage", true)
	breach("node/hotpath", Module+"/node/manage/resource", true)
	breach("node/manage", Module+"/node/hotpath", true)
	breach("node/manage/campaign", Module+"/node/manage/catalog", false)
	breach("node/manage", Module+"/node/daemon", false)
	breach("loadtest/driver", Module+"/shard/money", true)
	breach("node/daemon", Module+"/node/nodetest", false)
	breach("node/serving", Module+"/node/serving/servingtest", false)
	breach("bench/traffic", Module+"/shard/money", false)
}

func TestCheckImportsAcceptsTheImportsInUse(t *testing.T) {
	fine := func(from string, imports ...string) {
		t.Helper()
		for _, f := range CheckImports([]*Package{{ImportPath: Module + "/" + from, Imports: imports, Deps: imports}}) {
			t.Error(f)
		}
	}
	fine("shard/market", "time", "slices", "github.com/cespare/xxhash/v2", Module+"/shard/ids")
	fine("shard/shardtest", Module+"/shard")
	fine("shard/pacing", "math", Module+"/shard/money")
	fine("node/manage/managetest", Module+"/shard/shardtest", Module+"/shard")
	fine("bench/ceiling", Module+"/node/serving/servingtest")
	fine("node", Module+"/node/cli")
	fine("node/cli", Module+"/node/daemon", Module+"/node/config")
	fine("node/manage/campaign", Module+"/node/manage/resource", Module+"/node/apierr")
	fine("node/hotpath", "github.com/valyala/fasthttp", Module+"/node/serving")
	fine("loadtest", "net/http", Module+"/loadtest/driver", Module+"/bench/traffic")
}

func TestPurityFindsPlantedFaults(t *testing.T) {
	for _, name := range []string{"testdata/impure.go", "testdata/pure.go", "testdata/floats.go", "testdata/unreasoned.go"} {
		compare(t, name, checkPurity)
	}
}

func TestDropsFindPlantedErrors(t *testing.T) { compare(t, "testdata/drops.go", checkDrops) }

func TestCheckpointsFindsPlantedCopies(t *testing.T) {
	compare(t, "testdata/checkpoint.go", checkCheckpoints, pebble)
}

// A list of packages without one that imports Pebble is an error.
func TestCheckpointsNeedsAPackageOfPebble(t *testing.T) {
	if found, err := Checkpoints(root, []*Package{{ImportPath: Module + "/shard", Imports: []string{"time"}}}); err == nil {
		t.Errorf("nothing was checked: %v", found)
	}
}

// compare checks one planted file against its own "want: rule" comments. The file may import the given packages, beside
// some of the standard library.
func compare(t *testing.T, name string, check func(*source) []Finding, imports ...string) {
	t.Helper()
	exports, err := exportsOf(".", append([]string{"time", "maps", "slices", "os", "net"}, imports...)...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := load("planted", []string{name}, exports)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range check(s) {
		found = append(found, f.Where+" "+f.Rule)
	}
	want := wanted(t, name)
	for _, w := range want {
		if !slices.Contains(found, w) {
			t.Errorf("not found: %s", w)
		}
	}
	for _, f := range found {
		if !slices.Contains(want, f) {
			t.Errorf("found, and is allowed: %s", f)
		}
	}
}

// wanted reads the "want: rule" comments of a planted file.
func wanted(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, line := range strings.Split(string(text), "\n") {
		if _, rule, ok := strings.Cut(line, "// want: "); ok {
			want = append(want, fmt.Sprintf("%s:%d %s", name, i+1, rule))
		}
	}
	return want
}

func TestDocsFindsUndocumentedPackages(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.go", "// Some text.\npackage some\n")
	writeFile(t, dir, "b.go", "package some\n")
	p := &Package{Dir: dir, ImportPath: Module + "/some", Name: "some", GoFiles: []string{"a.go", "b.go"}}
	if found, err := Docs([]*Package{p}); err != nil || len(found) != 1 {
		t.Errorf("a package without a comment of its own: %v, %v", found, err)
	}
	writeFile(t, dir, "b.go", "// Package some is one.\npackage some\n")
	if found, err := Docs([]*Package{p}); err != nil || len(found) != 0 {
		t.Errorf("a documented package: %v, %v", found, err)
	}
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTextFindsPlantedWords(t *testing.T) {
	for _, c := range []struct{ file, text, rule string }{
		{"a.go", "// TO" + "DO: later", "open end"},
		{"a.go", "x() // FIX" + "ME", "open end"},
		{"a.go", "// TO" + "DO(the disk format changes in the next release)", ""},
		{"Makefile", "curl https://registry.npm" + "js.org/x", "registry"},
		{"Dockerfile", "ENV GOPROXY=https://proxy.golang" + ".org", "registry"},
		{"node/x/package-lock.json", `"resolved": "https://example.com/x.tgz"`, "registry"},
		{"a.json", `"resolved": "yes"`, ""},
		{"a.md", "see /wo" + "rk/notes.md", "machine path"},
		{"a.go", `dir := "/wo` + `rk/main"`, "machine path"},
		{"a.md", "the package does the work/rest split in shard/wo" + "rk/x.go", ""},
	} {
		var rules []string
		for _, f := range checkText(c.file, []byte("first line\n"+c.text+"\n")) {
			rules = append(rules, f.Rule)
		}
		if got := strings.Join(rules, " "); got != c.rule {
			t.Errorf("%s: %q: found %q, want %q", c.file, c.text, got, c.rule)
		}
	}
}

func TestPinsFindUpgrades(t *testing.T) {
	var good strings.Builder
	good.WriteString("module m\n\nrequire (\n")
	for module, version := range pins {
		good.WriteString("\t" + module + " " + version + "\n")
	}
	good.WriteString(")\n")
	if found := Pins([]byte(good.String())); len(found) != 0 {
		t.Errorf("pinned versions: %v", found)
	}
	for module, version := range pins {
		if found := Pins([]byte(strings.Replace(good.String(), module+" "+version, module+" v99.0.0", 1))); len(found) != 1 {
			t.Errorf("%s upgraded: %v", module, found)
		}
	}
	if found := Pins([]byte(good.String() + "replace a => ../a\n")); len(found) != 1 {
		t.Errorf("a replace line: %v", found)
	}
}
