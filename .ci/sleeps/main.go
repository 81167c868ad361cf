// SPDX-License-Identifier: Apache-2.0

// Command sleeps finds fixed waits in tests: a call of time.Sleep or timing.Sleep, or a
// statement that only receives from time.After, after which a test hopes that something has
// happened. A test waits for a condition instead. Allowed are:
//
//   - a sleep in a bubble of testing/synctest, where the clock is the test's own;
//   - the pause of a loop that ends by a condition: its own, a return or break in its body, or
//     in its post statement;
//   - a sleep that is the behaviour of a peer, or that is called in a bubble only: a comment
//     "sleep: <why>" on its line, or in the comment of its function, says so.
//
// Usage: go run ./.ci/sleeps
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	found := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != "." && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		lines, err := sleepsIn(path)
		for _, line := range lines {
			fmt.Printf("%s:%d: a fixed wait: wait for a condition, or say why in a comment: // sleep: <why>\n", path, line)
		}
		found += len(lines)
		return err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "sleeps:", err)
		os.Exit(2)
	}
	if found > 0 {
		fmt.Printf("sleeps: %d findings\n", found)
		os.Exit(1)
	}
}

// sleepsIn returns the lines of a file with a sleep that is not allowed.
func sleepsIn(path string) ([]int, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	explained := map[int]bool{}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if strings.Contains(comment.Text, "sleep: ") {
				explained[set.Position(comment.Pos()).Line] = true
			}
		}
	}
	var found []int
	var around []ast.Node // the nodes that the visited one is in
	ast.Inspect(file, func(node ast.Node) bool {
		if node == nil {
			around = around[:len(around)-1]
			return true
		}
		if line := set.Position(node.Pos()).Line; isWait(node, around) && !explained[line] && !allowed(around) {
			found = append(found, line)
		}
		around = append(around, node)
		return true
	})
	return found, nil
}

// isWait reports whether a node in others is a fixed wait. Where a select also waits for
// something else, time.After is its limit.
func isWait(node ast.Node, around []ast.Node) bool {
	if isCall(node, "time", "Sleep") || isCall(node, "timing", "Sleep") {
		return true
	}
	receive, ok := node.(*ast.ExprStmt)
	if !ok {
		return false
	}
	from, ok := receive.X.(*ast.UnaryExpr)
	if !ok || from.Op != token.ARROW || !isCall(from.X, "time", "After") {
		return false
	}
	clause, ok := around[len(around)-1].(*ast.CommClause)
	if !ok || clause.Comm != node {
		return true
	}
	all, ok := around[len(around)-2].(*ast.BlockStmt) // of the select
	return ok && len(all.List) == 1
}

// allowed reports whether a sleep in these nodes is one in a bubble, the pause of a loop, or
// in a function that says why.
func allowed(around []ast.Node) bool {
	for i, node := range slices.Backward(around) {
		switch node := node.(type) {
		case *ast.ForStmt:
			until := node.Cond != nil && node.Init == nil && node.Post == nil // for !holds() { sleep }
			if until || node.Post != nil && i+1 < len(around) && around[i+1] == node.Post || ends(node.Body) {
				return true
			}
		case *ast.RangeStmt:
			if ends(node.Body) {
				return true
			}
		case *ast.CallExpr:
			if isCall(node, "synctest", "Test") {
				return true
			}
		case *ast.FuncDecl:
			return node.Doc != nil && strings.Contains(node.Doc.Text(), "sleep: ")
		}
	}
	return false
}

// ends reports whether the body of a loop ends it by a condition.
func ends(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncLit, *ast.ForStmt, *ast.RangeStmt:
			return false // what ends there is something else
		case *ast.ReturnStmt:
			found = true
		case *ast.BranchStmt:
			found = found || node.Tok == token.BREAK
		}
		return true
	})
	return found
}

// isCall reports whether a node calls a function of a package.
func isCall(node ast.Node, pkg, name string) bool {
	call, ok := node.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	of, ok := selector.X.(*ast.Ident)
	return ok && of.Name == pkg
}
