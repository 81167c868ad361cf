// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer/importertest"
)

// crafted is what a hostile source may hold in any text.
const crafted = "${file:/x} ${HOME} $$${file:/x} ${VIGIL_API_KEY}"

// readsMore matches a variable that no import makes.
var readsMore = regexp.MustCompile(`(^|[^$])\$\{(file:|HOME|VIGIL_)`)

// harmless fails the test when a file that an import writes reads a file or a variable.
func harmless(t *testing.T, where, format, path string) {
	t.Helper()
	result, err := source(t, format).Read(path, options())
	if err != nil {
		return // the text has no such place there
	}
	dir := t.TempDir()
	if _, err := result.Write(dir, false); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for _, name := range []string{"checks.yaml", "channels.yaml", "maintenance.yaml", "status_pages.yaml"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") && readsMore.MatchString(line) {
				t.Errorf("%s: %s has %s", where, name, line)
			}
		}
	}
	if report := read(t, dir, "IMPORT.md"); strings.Contains(report, "file:/x} cannot be read") {
		t.Errorf("%s: the import reads the file: %s", where, report)
	}
}

// TestCraftedTexts puts a variable into every text of each format.
func TestCraftedTexts(t *testing.T) {
	t.Parallel()
	t.Run("KumaBackup", func(t *testing.T) {
		t.Parallel()
		var tree any
		if err := json.Unmarshal([]byte(read(t, "testdata/kuma/backup-1.23.16.json")), &tree); err != nil {
			t.Fatal(err)
		}
		count := 0
		eachText(tree, "", func(path string, set func(string), text string) {
			count++
			set(text + crafted)
			changed, err := json.Marshal(tree)
			file := filepath.Join(t.TempDir(), "backup.json")
			if err != nil || os.WriteFile(file, changed, 0o600) != nil {
				t.Fatal(err)
			}
			harmless(t, path, "kuma", file)
			set(text)
		})
		if count < 50 {
			t.Errorf("%d texts", count)
		}
	})
	t.Run("KumaDatabase", func(t *testing.T) {
		t.Parallel()
		columns := map[string]bool{}
		for _, rows := range importertest.KumaSample() {
			for _, row := range rows {
				for column, value := range row {
					if _, ok := value.(string); ok {
						columns[column] = true
					}
				}
			}
		}
		for column := range columns {
			sample := importertest.KumaSample()
			for _, rows := range sample {
				for i := range rows {
					if text, ok := rows[i][column].(string); ok {
						rows[i][column] = text + crafted
					}
				}
			}
			harmless(t, column, "kuma", importertest.KumaDatabase(t, "2.5.3", sample))
		}
		if len(columns) < 20 {
			t.Errorf("%d columns", len(columns))
		}
	})
	t.Run("Gatus", func(t *testing.T) {
		t.Parallel()
		text := read(t, "testdata/gatus/v5.24.yaml")
		lines := strings.SplitAfter(text, "\n")
		for i, line := range lines {
			name, value, found := strings.Cut(strings.TrimRight(line, "\n"), ": ")
			if !found || strings.ContainsAny(value, "|>{[&*#") {
				continue
			}
			value = strings.Trim(value, `"'`)
			changed := slices.Clone(lines)
			changed[i] = name + ": '" + strings.ReplaceAll(value, "'", "''") + "$$" + crafted + "${file:/x}'\n"
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(strings.Join(changed, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			harmlessGatus(t, line, file)
		}
	})
	t.Run("Upptime", func(t *testing.T) {
		t.Parallel()
		for _, member := range []string{
			"name", "url", "slug", "body", "method", "check", "type", "location", "port", "__dangerous__body_down", "headers", "tags",
		} {
			value := "'https://a.example/ " + crafted + "'"
			if member == "headers" || member == "tags" {
				value = "['A: " + crafted + "']"
			}
			site := "{a: x, name: x, url: 'https://a.example', " + member + ": " + value + "}"
			if member == "name" || member == "url" {
				site = "{" + member + ": " + value + ", check: http}"
			}
			file := filepath.Join(t.TempDir(), ".upptimerc.yml")
			if err := os.WriteFile(file, []byte("sites:\n  - "+site+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			harmless(t, member, "upptime", file)
		}
	})
	t.Run("Healthchecks", func(t *testing.T) {
		t.Parallel()
		for _, member := range []string{"name", "slug", "tags", "desc", "schedule", "tz", "status", "methods", "channels", "uuid"} {
			text, err := json.Marshal(map[string]any{"checks": []any{map[string]any{"grace": 60, "timeout": 60, member: crafted}}})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "checks.json")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			harmless(t, member, "healthchecks", file)
		}
	})
}

// harmlessGatus is harmless, where ${HOME} is a variable of the source, and stays one.
func harmlessGatus(t *testing.T, where, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "${HOME} ", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	harmless(t, where, "gatus", path)
}

// eachText calls visit for each text in a tree of JSON, also of JSON in a text.
func eachText(tree any, path string, visit func(path string, set func(string), text string)) {
	at := func(path string, value any, set func(any)) {
		text, ok := value.(string)
		if !ok {
			eachText(value, path, visit)
			return
		}
		var inner map[string]any
		if json.Unmarshal([]byte(text), &inner) == nil {
			eachText(inner, path, func(below string, change func(string), text string) {
				visit(below, func(changed string) {
					change(changed)
					packed, _ := json.Marshal(inner)
					set(string(packed))
				}, text)
			})
			return
		}
		visit(path, func(changed string) { set(changed) }, text)
	}
	switch tree := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			at(path+"."+name, tree[name], func(v any) { tree[name] = v })
		}
	case []any:
		for i := range tree {
			at(path+"[]", tree[i], func(v any) { tree[i] = v })
		}
	}
}
