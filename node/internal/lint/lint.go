// Package lint holds the rules of the repository as tests: which package may import which, what the engine may not do,
// what no file may contain, and which words no name or text uses. It needs nothing but Go, so that `make test` decides
// and linters are only the quick answer in an editor.
//
// Every rule is tested itself: a test plants each fault and expects the finding.
package lint

import (
	"fmt"
	"path"
	"strings"
)

// Module is the path every package of the repository starts with.
const Module = "github.com/gavel-ads/gavel"

// Finding is one breach of a rule.
type Finding struct {
	Where string // File and line, or the package.
	Rule  string // Short name: "import", "clock", "map order" …
	What  string // What was found and why it is refused.
}

// String is the line a failing test prints.
func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Where, f.Rule, f.What) }

// Package is what the rules read of a package; the members are those of go list -json.
type Package struct {
	Dir, ImportPath, Name, Export string
	Standard                      bool
	GoFiles, Imports, Deps        []string
	Error                         *struct{ Err string }
}

// path is the package's path inside the module, such as "shard/market"; "." for the root.
func (p *Package) path() string {
	if p.ImportPath == Module {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, Module+"/")
}

// matches reports whether a pattern covers an import path. A pattern is a path, which covers itself; a path with /...,
// which covers itself and everything below; or anyThird, which covers every module that is neither this one nor the
// standard library.
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

// inModule turns a pattern of packages inside the module into a pattern of import paths.
func inModule(pattern string) string {
	return path.Join(Module, strings.TrimSuffix(pattern, "/...")) + suffix(pattern)
}

func suffix(pattern string) string {
	if strings.HasSuffix(pattern, "/...") {
		return "/..."
	}
	return ""
}
