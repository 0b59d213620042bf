package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// The engine's replicas must agree byte for byte, so its code has no clock, no goroutine, no map order and no float.
// Two of the rules can be waived on the line itself, with a reason that a reader can check:
//
//	for id := range open { // order: the sum does not depend on it.
//	rate := float64(clicks) // float: a prediction; money takes the rounded micros below.
//
// On the package clause, the waiver of floats covers the file:
//
//	package pacing // float: only the leader computes this; its result is replicated as integers.
const (
	orderMark = "// order: "
	floatMark = "// float: "
)

// clocks are the names of package time that read or wait on the wall clock.
var clocks = map[string]bool{
	"Now": true, "Since": true, "Until": true, "After": true, "AfterFunc": true, "Tick": true, "NewTimer": true, "NewTicker": true, "Sleep": true,
}

// source is a type-checked package of the engine.
type source struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// purity walks one package.
type purity struct {
	*source
	waived map[string]map[int]bool // Lines with each mark of the current file.
	floats bool                    // Floats are waived for the current file.
	found  []Finding
	seen   map[string]bool // One finding per rule and line.
}

func checkPurity(s *source) []Finding {
	p := &purity{source: s, seen: map[string]bool{}}
	for _, f := range s.files {
		p.waived = marks(s.fset, f)
		p.floats = p.waived[floatMark][p.line(f.Name)]
		ast.Inspect(f, p.visit)
	}
	return p.found
}

func (p *purity) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		p.report(n, "goroutine", "the engine runs in the caller's goroutine only")
	case *ast.SelectStmt:
		p.report(n, "goroutine", "select chooses a ready case at random")
	case *ast.RangeStmt:
		if t := p.info.TypeOf(n.X); t != nil && isMap(t) && !p.waived[orderMark][p.line(n)] {
			p.report(n, "map order", "ranges over a map; sort the keys, or write on the line why the order has no effect: "+orderMark+"…")
		}
	case *ast.CallExpr:
		if p.sorted(n) {
			return false // Sorting removes the order of the iterator.
		}
	case *ast.SelectorExpr:
		p.selector(n)
	}
	if e, ok := n.(ast.Expr); ok {
		p.float(e)
	}
	return true
}

func (p *purity) selector(n *ast.SelectorExpr) {
	obj := p.info.Uses[n.Sel]
	if obj == nil || obj.Pkg() == nil {
		return
	}
	_, method := obj.Type().(*types.Signature)
	if method && obj.Type().(*types.Signature).Recv() != nil {
		return
	}
	switch obj.Pkg().Path() {
	case "time":
		if clocks[obj.Name()] {
			p.report(n, "clock", "time."+obj.Name()+": time comes in the command")
		}
	case "maps":
		if name := obj.Name(); (name == "Keys" || name == "Values" || name == "All") && !p.waived[orderMark][p.line(n)] {
			p.report(n, "map order", "maps."+name+" outside of slices.Sorted; sort it, or write why the order has no effect: "+orderMark+"…")
		}
	}
}

// sorted reports whether the call is slices.Sorted… of something.
func (p *purity) sorted(n *ast.CallExpr) bool {
	fun := n.Fun
	if generic, ok := fun.(*ast.IndexExpr); ok {
		fun = generic.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	obj := p.info.Uses[sel.Sel]
	return obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == "slices" && strings.HasPrefix(obj.Name(), "Sorted")
}

// float reports expressions whose value is a float. An untyped constant that is used as an integer is not one.
func (p *purity) float(e ast.Expr) {
	if p.floats {
		return
	}
	t := p.info.TypeOf(e)
	if t == nil {
		return
	}
	b, ok := t.Underlying().(*types.Basic)
	if !ok || b.Info()&(types.IsFloat|types.IsComplex) == 0 || b.Info()&types.IsUntyped != 0 {
		return
	}
	if !p.waived[floatMark][p.line(e)] {
		p.report(e, "float", fmt.Sprintf("%s; money and replicated state are integers. If this is neither, write so on the line: %s…", b, floatMark))
	}
}

func (p *purity) line(n ast.Node) int { return p.fset.Position(n.Pos()).Line }

func (p *purity) report(n ast.Node, rule, what string) {
	at := p.fset.Position(n.Pos())
	where := fmt.Sprintf("%s:%d", at.Filename, at.Line)
	if key := where + rule; !p.seen[key] {
		p.seen[key] = true
		p.found = append(p.found, Finding{where, rule, what})
	}
}

// marks returns the lines that carry a waiver with a reason: the comment's own line, and the next one when the comment
// stands on a line of its own. A waiver without a reason has no effect.
func marks(fset *token.FileSet, f *ast.File) map[string]map[int]bool {
	lines := map[string]map[int]bool{orderMark: {}, floatMark: {}}
	for _, group := range f.Comments {
		for _, c := range group.List {
			for mark, at := range lines {
				if reason, ok := strings.CutPrefix(c.Text, mark); ok && strings.TrimSpace(reason) != "" {
					at[fset.Position(c.Pos()).Line] = true
					at[fset.Position(group.End()).Line+1] = true
				}
			}
		}
	}
	return lines
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}
