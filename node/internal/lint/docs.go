package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// Docs reports packages without a package comment ("// Package name …", or "// Command …" for a main package).
func Docs(packages []*Package) ([]Finding, error) {
	var found []Finding
	for _, p := range packages {
		if len(p.GoFiles) == 0 {
			continue // A package of tests only; the tests describe it.
		}
		documented := false
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				return nil, err
			}
			documented = documented || isPackageComment(f)
		}
		if !documented {
			found = append(found, Finding{p.path(), "package comment", "no file has a package comment (// Package " + p.Name + " …)"})
		}
	}
	return found, nil
}

func isPackageComment(f *ast.File) bool {
	if f.Doc == nil {
		return false
	}
	text := f.Doc.Text()
	return strings.HasPrefix(text, "Package "+f.Name.Name+" ") || f.Name.Name == "main" && strings.HasPrefix(text, "Command ")
}
