// SPDX-License-Identifier: Apache-2.0

// Command platforms checks the types of Vigil's packages for each platform of a release, as its compiler
// would, without building what they import: a file for another system is read by no test on this one.
// It prints what is wrong, and exits with 1 when there is anything.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// platforms are those of .ci/release, beside the one that CI runs on.
var platforms = [][2]string{{"linux", "arm64"}, {"darwin", "arm64"}} //nolint:gochecknoglobals // constant

func main() {
	wrong := false
	for _, platform := range platforms {
		found, err := check(platform[0], platform[1])
		if err != nil {
			fmt.Fprintf(os.Stderr, "platforms: %v\n", err)
			os.Exit(2)
		}
		for _, one := range found {
			fmt.Printf("%s/%s: %s\n", platform[0], platform[1], one)
			wrong = true
		}
	}
	if wrong {
		os.Exit(1)
	}
}

// check returns what is wrong in the packages below the folder in which it runs.
func check(system, machine string) ([]string, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes | packages.NeedModule,
		Env: append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0"),
		ParseFile: func(set *token.FileSet, name string, text []byte) (*ast.File, error) {
			file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, here+string(filepath.Separator)) {
				withoutBodies(file)
			}
			return file, err
		},
	}, "./...")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, one := range loaded {
		for _, err := range one.Errors {
			found = append(found, strings.TrimPrefix(err.Error(), here+string(filepath.Separator)))
		}
	}
	return found, nil
}

// withoutBodies leaves out what other packages do not see of a file.
func withoutBodies(file *ast.File) {
	for _, declared := range file.Decls {
		if function, ok := declared.(*ast.FuncDecl); ok {
			function.Body = nil
		}
	}
}
