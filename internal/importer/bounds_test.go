// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer/importertest"
	"github.com/vigil-monitor/vigil/internal/manifest"
)

// TestYAMLBounds pins what is not given to the parser of YAML, whose time grows with its square.
func TestYAMLBounds(t *testing.T) {
	t.Parallel()
	numbered := func(count int, form string) string {
		var text strings.Builder
		for i := range count {
			fmt.Fprintf(&text, form, i)
		}
		return text.String()
	}
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 7 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for name, tt := range map[string]struct{ text, says string }{
		"Documents":   {numbered(200_000, "---\na: %d\n"), "more than 1000 documents"},
		"Directives":  {numbered(200_000, "%%YAML 1.%d\n---\n"), "more than 1000 documents"},
		"Anchors":     {numbered(300_000, "- &a%d x\n"), "more than 10000 anchors"},
		"Keys":        {numbered(300_000, "k%d: x\n"), "more than 20000 keys"},
		"NestedKeys":  {"a:\n" + numbered(300_000, "  k%d: x\n"), "more than 20000 keys"},
		"ComplexKeys": {numbered(300_000, "? k%d\n: x\n"), "more than 20000 keys"},
		"Items":       {numbered(900_000, "- %d\n"), "more than 500000 values"},
		"FlowItems":   {"[" + numbered(900_000, "%d,") + "0]", "more than 500000 values"},
		"Brackets":    {strings.Repeat("[", 5000), "nests too deep"},
		"Aliases":     {laughs, "values"},
		"LongAliases": {"a: &a '" + strings.Repeat("x", 1<<20) + "'\nb: [" + strings.Repeat("*a,", 100_000) + "*a]\n", "values"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := source(t, "gatus").Read(path, options()); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the import of Gatus: %.200v", err)
			}
			if _, err := manifest.Read([]string{path}, manifest.Options{}); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("validate: %.200v", err)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "project.yaml")
	many := "version: 1\nproject: shop\nchecks:\n" + numbered(5000, "  c%d:\n    name: A check & more\n    type: tcp\n")
	if err := os.WriteFile(path, []byte(many), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := manifest.Read([]string{path}, manifest.Options{}); err != nil {
		t.Errorf("a project of 5,000 checks: %.200v", err)
	}
}

// TestKumaViews pins that only tables of a database are read: a view can have rows without end.
func TestKumaViews(t *testing.T) {
	t.Parallel()
	endless := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i AS id, 'x' AS name FROM n"
	for _, table := range []string{"monitor", "tag", "heartbeat", "setting"} {
		for name, view := range map[string]string{"Rows": endless, "NoRows": endless + " WHERE i < 0"} {
			t.Run(table+name, func(t *testing.T) {
				t.Parallel()
				path := importertest.KumaDatabase(t, "2.5.3", importertest.KumaSample())
				db := importertest.OpenDatabase(t, path)
				importertest.Exec(t, db, "PRAGMA foreign_keys = OFF")
				importertest.Exec(t, db, "DROP TABLE \""+table+"\"")
				importertest.Exec(t, db, "CREATE VIEW \""+strings.ToUpper(table)+"\" AS "+view)
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				if _, err := source(t, "kuma").Read(path, options()); err == nil || !strings.Contains(err.Error(), "only tables are read") {
					t.Errorf("%v", err)
				}
			})
		}
	}
}
