package importer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestShow prints.
func TestShow(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"v5.0.yaml", "v5.12.yaml", "v5.24.yaml", "directory"} {
		result, err := source(t, "gatus").Read(filepath.Join("testdata/gatus", name), options())
		if err != nil {
			t.Fatal(err)
		}
		got := write(t, result)
		t.Log(files(t, got.dir))
		if env, err := os.ReadFile(filepath.Join(got.dir, ".env")); err == nil {
			t.Log(string(env))
		}
		t.Log(got.report)
		var lines []string
		for _, line := range result.Summary() {
			lines = append(lines, line.Label+" | "+line.What+" | "+strings.Join(line.Notes, "; "))
		}
		t.Log(strings.Join(lines, "\n"))
	}
}
