// Package lint is the house law as a test: who may import whom, what the engine may not do, and what no file may hold.
// It needs nothing installed but Go, so that make test is the law and linters are only the quick answer in an editor.
//
// Every rule is shown to bite: the tests plant each fault in testdata and look for the finding.
package lint

import (
	"fmt"
	"path"
	"strings"
)

// Module is the path every package of the repository starts with.
const Module = "github.com/gavel-ads/gavel"

// Finding is one breach of the law.
type Finding struct {
	Where string // File and line, or the package.
	Rule  string // Short name: "wall", "clock", "map order" …
	What  string // What was found and why it is refused.
}

// String is the line a failing test prints.
func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Where, f.Rule, f.What) }

// Package is what the law reads of a package; the members are those of go list -json.
type Package struct {
	Dir, ImportPath, Name, Export string
	Standard                      bool
	GoFiles, Imports, Deps        []string
	Error                         *struct{ Err string }
}

// room is the package's path inside the module: "shard/market"; "." for the root.
func (p *Package) room() string {
	if p.ImportPath == Module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, Module+"/")
}

// matches reports whether an import path is meant by a pattern: a path exactly; with /... itself and all below; the word
// anyThird: every module that is neither ours nor the standard library.
func matches(pattern, imported string) bool {
	if pattern == anyThird {
		first, _, _ := strings.Cut(imported, "/")
		return strings.Contains(first, ".") && !below(Module, imported)
	}
	if root, tree := strings.CutSuffix(pattern, "/..."); tree {
		return below(root, imported)
	}
	return pattern == imported
}

const anyThird = "any third party"

func below(root, p string) bool { return p == root || strings.HasPrefix(p, root+"/") }

// ours turns a room pattern into an import pattern.
func ours(room string) string {
	return path.Join(Module, strings.TrimSuffix(room, "/...")) + suffix(room)
}

func suffix(room string) string {
	if strings.HasSuffix(room, "/...") {
		return "/..."
	}
	return ""
}
