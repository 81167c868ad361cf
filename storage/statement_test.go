// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/storage/pg"
)

// TestStatementsNameTheirArguments reads the source: a statement with more arguments than a reader
// can count has them by their names (pg.Named).
func TestStatementsNameTheirArguments(t *testing.T) {
	t.Parallel()
	// Where the arguments of a call begin that follow its statement.
	first := map[string]int{
		"NewRaw": 1, "Where": 1, "WhereOr": 1, "Having": 1, "Join": 1, "JoinOn": 1, "ColumnExpr": 1, "ModelTableExpr": 1, "OrderExpr": 1,
		"Set": 1, "SafeQuery": 1, "Queue": 1, "Query": 2, "QueryRow": 2, "Exec": 2, "Rows": 3, "Row": 3,
	}
	files := token.NewFileSet()
	statements := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			name := called(call.Fun)
			from, ok := first[name]
			if name == "Exec" && len(call.Args) > 1 && called(call.Args[1]) != "" {
				from = 3 // of pg: it has the runner before the statement
			}
			if !ok || len(call.Args) <= from {
				return true
			}
			statements++
			if n := len(call.Args) - from; n > pg.MaxNumbered+prepared(call.Args[from:]) {
				t.Errorf("%s: %s has %d arguments, want their names (pg.Named)", files.Position(call.Pos()), name, n)
			}
			return true
		})
		return nil
	})
	if err != nil || statements < 300 {
		t.Errorf("read %d statements with arguments, %v; want at least 300", statements, err)
	}
}

// called is the name of the function of a call, without its package or receiver.
func called(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.SelectorExpr:
		return fun.Sel.Name
	case *ast.IndexExpr:
		return called(fun.X)
	case *ast.CallExpr:
		return called(fun.Fun)
	}
	return ""
}

// prepared is 1 when the first argument is how the statement runs.
func prepared(args []ast.Expr) int {
	if call, ok := args[0].(*ast.CallExpr); ok && called(call.Fun) == "Prepared" {
		return 1
	}
	return 0
}
