package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// list runs go list in dir and decodes what it prints.
func list(dir string, args ...string) ([]*Package, error) {
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=Dir,ImportPath,Name,Export,Standard,GoFiles,Imports,Deps,Error"}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	var packages []*Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, &p)
	}
}

// modelPackage runs the engine beside a naive model. It is not part of the engine, which may not import it.
const modelPackage = Module + "/shard/shardtest"

// Purity checks the packages of patterns (and not what they import) in the module at dir.
func Purity(dir string, patterns ...string) ([]Finding, error) {
	return checkEach(dir, patterns, func(p *Package, s *source) []Finding {
		if p.ImportPath == modelPackage {
			return nil
		}
		return checkPurity(s)
	})
}

// Drops checks the packages of patterns for ignored errors of a disk.
func Drops(dir string, patterns ...string) ([]Finding, error) {
	return checkEach(dir, patterns, func(_ *Package, s *source) []Finding { return checkDrops(s) })
}

func checkEach(dir string, patterns []string, check func(*Package, *source) []Finding) ([]Finding, error) {
	checked, err := list(dir, patterns...)
	if err != nil {
		return nil, err
	}
	exports, err := exportsOf(dir, patterns...)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, p := range checked {
		files := make([]string, len(p.GoFiles))
		for i, name := range p.GoFiles {
			files[i] = filepath.Join(p.Dir, name)
		}
		s, err := load(p.ImportPath, files, exports)
		if err != nil {
			return nil, err
		}
		found = append(found, check(p, s)...)
	}
	return found, nil
}

// exportsOf builds what patterns import and returns the compiler's export data by import path. Reading it is much
// faster than type-checking the standard library from source, and needs nothing beside Go.
func exportsOf(dir string, patterns ...string) (map[string]string, error) {
	deps, err := list(dir, append([]string{"-export", "-deps"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range deps {
		exports[p.ImportPath] = p.Export
	}
	return exports, nil
}

func load(importPath string, names []string, exports map[string]string) (*source, error) {
	s := &source{fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
	for _, name := range names {
		f, err := parser.ParseFile(s.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
	}
	open := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %s: does it build?", path)
		}
		return os.Open(exports[path])
	}
	check := types.Config{Importer: importer.ForCompiler(s.fset, "gc", open)}
	if _, err := check.Check(importPath, s.fset, s.files, s.info); err != nil {
		return nil, fmt.Errorf("type-check %s: %w", importPath, err)
	}
	return s, nil
}
