// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile imports a text as a file of a source.
func hostile(tb testing.TB, name, file, text string) (imported, error) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), file)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	result, err := source(tb, name).Read(path, options())
	if err != nil {
		return imported{}, err
	}
	return write(tb, result), nil
}

// smallest is the smallest import of a source: its file, and a text before and behind what may be
// filled up.
type smallest struct {
	file, before, fill, behind string
	most                       int // MiB
}

func smallestImports() map[string]smallest {
	return map[string]smallest{
		"gatus":        {"config.yaml", "endpoints: [{name: a, url: 'https://a.example'}]\n", "# a comment of an endpoint\n", "", 8},
		"upptime":      {".upptimerc.yml", "sites: [{name: a, url: 'https://a.example'}]\n", "# a comment of a site\n", "", 8},
		"csv":          {"a.csv", "target\nhttps://a.example\n", "\n", "", 8},
		"kuma":         {"a.json", `{"monitorList": [{"id": 1, "type": "http", "name": "a", "url": "https://a.example"}`, " ", "]}", 32},
		"healthchecks": {"checks.json", `{"checks": [{"name": "a", "timeout": 60, "grace": 60}`, " ", "]}", 8},
	}
}

// filled is a text of so many bytes.
func (s smallest) filled(size int) string {
	room := size - len(s.before) - len(s.behind)
	fill := strings.Repeat(s.fill, room/len(s.fill))
	return s.before + fill + strings.Repeat(s.fill[len(s.fill)-1:], room-len(fill)) + s.behind
}

// TestImportsAreBounded imports a file of the largest size, and one with a byte more, of each source.
func TestImportsAreBounded(t *testing.T) {
	t.Parallel()
	for name, one := range smallestImports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := hostile(t, name, one.file, one.filled(one.most<<20))
			if err != nil || len(got.result.Checks) != 1 {
				t.Errorf("%d MiB: %.200v", one.most, err)
			}
			says := fmt.Sprintf("is larger than %d MiB", one.most)
			if _, err := hostile(t, name, one.file, one.filled(one.most<<20+1)); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("a byte more: %.200v", err)
			}
			if _, err := source(t, name).Read("/dev/zero", options()); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("a file without an end: %.200v", err)
			}
		})
	}
}

// TestImportsAreTexts holds that bytes that are no text are refused with their line: to replace them
// would change a password without a word.
func TestImportsAreTexts(t *testing.T) {
	t.Parallel()
	for name, one := range smallestImports() {
		for kind, text := range map[string]string{
			"Latin1": one.before + "\xe4" + one.behind,
			"NUL":    one.before + "\x00" + one.behind,
			"UTF16":  "\xff\xfet\x00a\x00r\x00g\x00e\x00t\x00",
			"Binary": "\x7fELF\x02\x01\x01\x00\x00\x00",
		} {
			t.Run(name+kind, func(t *testing.T) {
				t.Parallel()
				if _, err := hostile(t, name, one.file, text); err == nil || !strings.Contains(err.Error(), "no text in UTF-8") {
					t.Errorf("the error is %.200v", err)
				}
			})
		}
		t.Run(name+"Mark", func(t *testing.T) {
			t.Parallel()
			got, err := hostile(t, name, one.file, "\xef\xbb\xbf"+one.before+one.behind)
			if err != nil || len(got.result.Checks) != 1 {
				t.Errorf("a byte order mark: %v", err)
			}
		})
	}
}

// TestImportsWithoutNUL holds that what has a NUL character, which no text of Vigil may have, is
// missing by name, and the rest is carried over.
func TestImportsWithoutNUL(t *testing.T) {
	t.Parallel()
	for name, one := range map[string][2]string{
		"gatus": {"config.yaml", `endpoints: [{name: a, url: "https://a.example", body: "x\0y"}, {name: b, url: "https://b.example"},
			{name: c, url: "https://c.example", headers: {X: "a\0b"}}, {name: d, url: "https://d.example", conditions: ["[BODY] == pat(*\0*)"]}]`},
		"upptime": {".upptimerc.yml", `sites: [{name: a, url: "https://a.example", body: "x\0y"}, {name: b, url: "https://b.example"}]`},
		"kuma": {"a.json", `{"monitorList": [{"id": 1, "type": "keyword", "name": "a", "url": "https://a.example", "keyword": "x\u0000y"},
			{"id": 2, "type": "http", "name": "b", "url": "https://b.example"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := hostile(t, name, one[0], one[1])
			if err != nil {
				t.Fatal(err)
			}
			mentioned(t, got)
			if len(got.result.Checks) != 1 || got.result.Checks[0].Key != "b" || !strings.Contains(got.report, "its config has a NUL character") {
				t.Errorf("it is not missing by name:\n%s", got.report)
			}
		})
	}
}

// TestKumaJSONBounds holds that no JSON of Uptime Kuma fills the memory.
func TestKumaJSONBounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, says string }{
		"Deep":   {`{"monitorList": ` + strings.Repeat("[", 1<<20), "nests too deep"},
		"Lists":  {`{"monitorList": [` + strings.Repeat("[],", 2_000_000) + "[]]}", "holds more than 2000000 values"},
		"Values": {`{"monitorList": [` + strings.Repeat("1,", 3_000_000) + "1]}", "holds more than 2000000 values"},
		"Half":   {`{"monitorList": [{"id": 1, "type": "http", "name": "a", "url": "https://a.exam`, "neither a JSON backup"},
		"Two":    {`{"monitorList": []} {"monitorList": []}`, "something stands behind"},
		"Text":   {`"monitorList"`, "so it is not of Uptime Kuma"},
		"YAML":   {"monitorList: []\n", "neither a JSON backup"},
		"Page":   {"<!DOCTYPE html><html></html>", "neither a JSON backup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := hostile(t, "kuma", "a.json", tt.text); err == nil || !strings.Contains(err.Error(), tt.says) || len(err.Error()) > 500 {
				t.Errorf("the error is %.300v", err)
			}
		})
	}
	nested := `{"monitorList": [{"id": 1, "type": "http", "name": "a", "url": "https://a.example", "headers": "` +
		strings.Repeat("[", 100_000) + `"}]}`
	got, err := hostile(t, "kuma", "a.json", nested)
	if err != nil || !strings.Contains(got.report, "they are not an object in JSON") {
		t.Errorf("deep headers: %v\n%s", err, got.report)
	}
}

// TestImportLargerThanAProject holds that an import whose files no plan would read writes none.
func TestImportLargerThanAProject(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("name,target\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "Check %d,https://shop.example/%d/%s\n", i, i, strings.Repeat("x", 750))
	}
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := source(t, "csv").Read(path, options())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "files")
	if _, err := result.Write(dir, false); err == nil || !strings.Contains(err.Error(), "at most 8 MiB together; divide") {
		t.Errorf("the error is %.300v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("something is written: %v", err)
	}
}
