// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestUnusedNames tests that a name which no other package uses is found, and none that belongs
// to one that is used: the type of a field or of a result, and the constants of a type.
func TestUnusedNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.test/shop\n",
		"shop.go": `package shop

type Order struct {
	Lines []Line
	note  Note
}

type Line struct{ Kind Kind }

type Kind string

const (
	KindBook Kind = "book"
	KindCard Kind = "card"
	Largest       = 10
)

type Note struct{}

type Receipt struct{}

func (o Order) Receipt() Receipt { return Receipt{} }

func Sum(o Order) int { return Largest }
`,
		"shop_test.go": "package shop_test\n\nimport \"example.test/shop\"\n\nvar _ = shop.Sum\n",
		"desk/desk.go": "package desk\n\nimport of \"example.test/shop\"\n\nvar open of.Order\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errOut bytes.Buffer
	code := run([]string{"-dir", dir}, &out, &errOut)
	want := "names: no other package uses shop.Largest: give it a small letter, or move it\n" +
		"names: no other package uses shop.Note: give it a small letter, or move it\n" +
		"names: no other package uses shop.Sum: give it a small letter, or move it\n"
	if code != 1 || errOut.String() != want {
		t.Errorf("exit code %d, found\n%s\nwant\n%s", code, errOut.String(), want)
	}
}
