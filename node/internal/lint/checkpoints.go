package lint

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

const pebble = "github.com/cockroachdb/pebble/v2"

// Checkpoints reports calls of Pebble's Checkpoint in production code. A checkpoint that is taken during writes may
// contain bytes of the write-ahead log that were never synced, or lack acknowledged ones (pebble#5142): such a backup
// opens and lacks what it promised. A copy of the state is streamed from a snapshot of the database instead. It is an
// error if no package imports Pebble, because then nothing was checked.
func Checkpoints(dir string, packages []*Package) ([]Finding, error) {
	var users []string
	for _, p := range packages {
		if slices.ContainsFunc(p.Imports, func(i string) bool { return below(pebble, i) }) {
			users = append(users, p.ImportPath)
		}
	}
	if len(users) == 0 {
		return nil, fmt.Errorf("no package imports %s, so nothing was checked", pebble)
	}
	return checkEach(dir, users, func(_ *Package, s *source) []Finding { return checkCheckpoints(s) })
}

// checkCheckpoints reports every mention of the method, so that a method value is found, too.
func checkCheckpoints(s *source) []Finding {
	var found []Finding
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Checkpoint" {
				return true
			}
			if obj := s.info.Uses[sel.Sel]; obj != nil && obj.Pkg() != nil && strings.HasPrefix(obj.Pkg().Path(), pebble) {
				at := s.fset.Position(sel.Sel.Pos())
				found = append(found, Finding{
					fmt.Sprintf("%s:%d", at.Filename, at.Line), "checkpoint",
					"a checkpoint taken during writes may lack acknowledged data (pebble#5142); stream a snapshot of the database",
				})
			}
			return true
		})
	}
	return found
}
