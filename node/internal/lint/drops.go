package lint

import (
	"fmt"
	"go/ast"
	"go/types"
)

// durable are the methods whose error says that acknowledged data may not be on disk. Ignoring one by accident is the
// classic way to lose data, so it has to be visible: handle it, or write _ = and the reason.
var durable = map[string]bool{"Sync": true, "Close": true, "Commit": true, "Flush": true, "Apply": true}

// checkDrops reports calls of durable methods whose error is ignored, deferred ones included.
func checkDrops(s *source) []Finding {
	var found []Finding
	check := func(call *ast.CallExpr) {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !durable[sel.Sel.Name] || !returnsError(s.info.TypeOf(call)) || hasAddress(s.info.TypeOf(sel.X)) {
			return
		}
		at := s.fset.Position(call.Pos())
		found = append(found, Finding{
			fmt.Sprintf("%s:%d", at.Filename, at.Line), "dropped error",
			sel.Sel.Name + " may say that data is not on disk; handle it, or write _ = and why",
		})
	}
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ExprStmt:
				if call, ok := n.X.(*ast.CallExpr); ok {
					check(call)
				}
			case *ast.DeferStmt:
				check(n.Call)
			case *ast.GoStmt:
				check(n.Call)
			}
			return true
		})
	}
	return found
}

// hasAddress reports whether a type is a connection or a listener: closing one promises nothing about data.
func hasAddress(t types.Type) bool {
	for _, method := range []string{"RemoteAddr", "Addr"} {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, nil, method); obj != nil {
			return true
		}
	}
	return false
}

func returnsError(t types.Type) bool {
	failure := types.Universe.Lookup("error").Type()
	if tuple, ok := t.(*types.Tuple); ok {
		for v := range tuple.Variables() {
			if types.Identical(v.Type(), failure) {
				return true
			}
		}
		return false
	}
	return t != nil && types.Identical(t, failure)
}
