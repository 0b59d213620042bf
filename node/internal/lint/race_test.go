package lint

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What .ci/race.txt leaves out because it has no goroutine has none: no go statement, no WaitGroup.Go, no parallel test or
// benchmark, and no bubble of synctest.
func TestWhatTheRaceDetectorLeavesOutHasNoGoroutine(t *testing.T) {
	f, err := os.Open("../../../.ci/race.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // It is only read.
	checked := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 5 || words[0] != "package" || strings.Join(words[2:5], " ") != "has no goroutine," {
			continue
		}
		checked++
		files, err := filepath.Glob(filepath.Join("../../..", words[1], "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no files: %v", words[1], err)
		}
		for _, file := range files {
			for _, where := range goroutinesIn(t, file) {
				t.Errorf("%s starts a goroutine, so the race detector shall see it", where)
			}
		}
	}
	if checked == 0 {
		t.Error("no line of .ci/race.txt was checked")
	}
	if len(goroutinesIn(t, "race_test.go")) > 0 || len(goroutinesIn(t, "../../../shard/market/concurrency_test.go")) == 0 {
		t.Error("goroutines are not told from other calls")
	}
}

// goroutinesIn returns the positions in a file at which it starts goroutines.
func goroutinesIn(t *testing.T, file string) (found []string) {
	t.Helper()
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	starters := map[string]bool{"Go": true, "Parallel": true, "RunParallel": true}
	ast.Inspect(parsed, func(n ast.Node) bool {
		starts := false
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			call, ok := n.Fun.(*ast.SelectorExpr)
			starts = ok && starters[call.Sel.Name]
			if ok && !starts {
				from, named := call.X.(*ast.Ident)
				starts = named && from.Name == "synctest"
			}
		}
		if starts {
			found = append(found, positions.Position(n.Pos()).String())
		}
		return true
	})
	return found
}
