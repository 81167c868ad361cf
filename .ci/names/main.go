// SPDX-License-Identifier: Apache-2.0

// Command names holds the root package to its size. It counts the exported names of the package
// at the top of the module, and finds those that no other package uses: they belong into the
// package that uses them, or need no capital letter. A type counts as used, too, when an exported
// name that is used has it in its signature, its fields or its value; the constants of a type
// count with it. It exits with 1 when there
// are more names than the limit, or one that is not used.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// limit is how many exported names the root package may have. It only falls: a move of names
// lowers it.
const limit = 350

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("names", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", ".", "`directory` of the module")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "usage: names [-dir directory]")
		return 2
	}
	root, err := readRoot(*dir)
	if err != nil {
		fmt.Fprintln(stderr, "names:", err)
		return 2
	}
	used, err := root.uses(*dir)
	if err != nil {
		fmt.Fprintln(stderr, "names:", err)
		return 2
	}
	unused := root.unused(used)
	for _, name := range unused {
		fmt.Fprintf(stderr, "names: no other package uses %s.%s: give it a small letter, or move it\n", root.name, name)
	}
	fmt.Fprintf(stdout, "names: the root package has %d exported names, %d are the most\n", len(root.mentions), limit)
	if len(unused) > 0 || len(root.mentions) > limit {
		return 1
	}
	return 0
}

// pkg is the root package.
type pkg struct {
	path, name string
	mentions   map[string][]string // by exported name: the exported names that its declaration mentions
}

// readRoot reads the declarations of the package in a directory, without its tests.
func readRoot(dir string) (*pkg, error) {
	p := &pkg{mentions: make(map[string][]string)}
	module, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // the module that is asked for
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(module), "module "), "\n")
	p.path = strings.TrimSpace(first)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.name = file.Name.Name
		for _, decl := range file.Decls {
			p.add(decl)
		}
	}
	return p, nil
}

// add adds the exported names of a declaration. What a method mentions belongs to its type.
func (p *pkg) add(decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		name := decl.Name
		if decl.Recv != nil {
			if !name.IsExported() {
				return
			}
			name = receiver(decl.Recv.List[0].Type)
		}
		p.mention(name, decl.Type)
	case *ast.GenDecl:
		var typed ast.Expr // of the constants of a group, which iota repeats
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				p.mention(spec.Name, spec.Type)
			case *ast.ValueSpec:
				if spec.Type != nil || len(spec.Values) > 0 {
					typed = spec.Type
				}
				for _, name := range spec.Names {
					p.mention(name, typed)
					if of, ok := typed.(*ast.Ident); ok && decl.Tok == token.CONST { // the values of a type belong to it
						p.mention(of, name)
					}
				}
			}
		}
	}
}

// receiver is the type of a method.
func receiver(expr ast.Expr) *ast.Ident {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return receiver(expr.X)
	case *ast.IndexExpr:
		return receiver(expr.X)
	case *ast.Ident:
		return expr
	}
	return ast.NewIdent("_")
}

// mention notes an exported name, and the exported names that belong to it.
func (p *pkg) mention(name *ast.Ident, what ast.Node) {
	if !name.IsExported() {
		return
	}
	names := p.mentions[name.Name]
	if !isNil(what) {
		ast.Inspect(what, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && len(field.Names) > 0 && !slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
				_, function := what.(*ast.FuncType)
				return function // the fields of a struct that no other package sees
			}
			if ident, ok := n.(*ast.Ident); ok && ident.IsExported() {
				names = append(names, ident.Name)
			}
			return true
		})
	}
	p.mentions[name.Name] = names
}

func isNil(n ast.Node) bool { expr, ok := n.(ast.Expr); return n == nil || ok && expr == nil }

// uses are the names of the package that other packages of the module name, tests included.
func (p *pkg) uses(dir string) (map[string]bool, error) {
	used := make(map[string]bool)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != dir && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || filepath.Dir(path) == filepath.Clean(dir) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.usesOf(file, used)
		return nil
	})
	return used, err
}

// usesOf adds the names of the package that a file has.
func (p *pkg) usesOf(file *ast.File, used map[string]bool) {
	as := ""
	for _, imported := range file.Imports {
		if path, err := strconv.Unquote(imported.Path.Value); err == nil && path == p.path {
			if as = p.name; imported.Name != nil {
				as = imported.Name.Name
			}
		}
	}
	if as == "" {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == as {
				used[sel.Sel.Name] = true
			}
		}
		return true
	})
}

// unused are the exported names that are neither used nor belong to one that is, in order.
func (p *pkg) unused(used map[string]bool) []string {
	reached := make(map[string]bool)
	var reach func(name string)
	reach = func(name string) {
		if reached[name] {
			return
		}
		reached[name] = true
		for _, other := range p.mentions[name] {
			reach(other)
		}
	}
	for name := range used {
		reach(name)
	}
	return slices.Sorted(func(yield func(string) bool) {
		for name := range maps.Keys(p.mentions) {
			if !reached[name] && !yield(name) {
				return
			}
		}
	})
}
