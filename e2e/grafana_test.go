// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// families are the names of the metrics in an exposition, those without series included.
func families(text string) map[string]bool {
	names := make(map[string]bool)
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(text, -1) {
		names[line[1]] = true
	}
	return names
}

// board is what Grafana needs of a dashboard.
type board struct {
	UID           string `json:"uid"`
	Title         string `json:"title"`
	SchemaVersion int    `json:"schemaVersion"`
	Templating    struct {
		List []struct {
			Name  string          `json:"name"`
			Type  string          `json:"type"`
			Query json.RawMessage `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID      int    `json:"id"`
		Type    string `json:"type"`
		Title   string `json:"title"`
		GridPos struct {
			H, W, X, Y int
		} `json:"gridPos"`
		Targets []struct {
			RefID      string `json:"refId"`
			Expr       string `json:"expr"`
			Datasource struct {
				Type string `json:"type"`
				UID  string `json:"uid"`
			} `json:"datasource"`
		} `json:"targets"`
	} `json:"panels"`
}

// checkBoard proves that a dashboard has what Grafana needs, and that its queries use metrics
// of these families only, and all of the platform.
func checkBoard(t *testing.T, file string, families map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "grafana", file))
	if err != nil {
		t.Fatal(err)
	}
	var b board
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if b.UID == "" || len(b.UID) > 40 || b.Title == "" || b.SchemaVersion < 30 || len(b.Panels) == 0 {
		t.Errorf("%s: uid %q, title %q, schemaVersion %d, %d panels", file, b.UID, b.Title, b.SchemaVersion, len(b.Panels))
	}
	used := make(map[string]bool)
	for _, variable := range b.Templating.List {
		if variable.Type == "query" {
			query := regexp.MustCompile(`label_values\(([a-z_]+)`).FindStringSubmatch(string(variable.Query))
			if query == nil {
				t.Errorf("%s: the variable %s has the query %s", file, variable.Name, variable.Query)
				continue
			}
			used[query[1]] = true
		}
	}
	var ids []int
	for _, panel := range b.Panels {
		if panel.Title == "" || panel.Type == "" || panel.GridPos.W == 0 || panel.GridPos.X+panel.GridPos.W > 24 || len(panel.Targets) == 0 {
			t.Errorf("%s: the panel %+v is not complete", file, panel)
		}
		if slices.Contains(ids, panel.ID) {
			t.Errorf("%s: two panels have the id %d", file, panel.ID)
		}
		ids = append(ids, panel.ID)
		for _, target := range panel.Targets {
			if target.RefID == "" || target.Datasource.UID != "${datasource}" {
				t.Errorf("%s: the query %q of %q has no id or no data source", file, target.Expr, panel.Title)
			}
			names := metricsOf(target.Expr)
			if len(names) == 0 || strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") {
				t.Errorf("%s: the query %q of %q is not one", file, target.Expr, panel.Title)
			}
			for _, name := range names {
				used[name] = true
			}
		}
	}
	for name := range used {
		if !families[name] {
			t.Errorf("%s uses %s, which is not shown", file, name)
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "vigil_") && !used[name] {
			t.Errorf("%s does not show %s", file, name)
		}
	}
}

// metricsOf returns the names of the metrics in a PromQL expression: what remains of it
// without strings, selectors, ranges, label lists, functions and keywords.
func metricsOf(expr string) (names []string) {
	for _, part := range []string{
		`"[^"]*"`, `\{[^}]*\}`, `\[[^\]]*\]`, `\b(by|without|on|ignoring)\s*\([^)]*\)`, `\b[a-z_0-9]+\s*\(`, `\b(or|and|unless|bool)\b`,
	} {
		expr = regexp.MustCompile(part).ReplaceAllString(expr, " ")
	}
	for _, name := range regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`).FindAllString(expr, -1) {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		names = append(names, name)
	}
	return names
}

func TestMetricsOfAnExpression(t *testing.T) {
	timingtest.Parallel(t)
	for expr, want := range map[string]string{
		`histogram_quantile(0.99, sum by (le, route) (rate(a_seconds_bucket{x="y_z"}[5m])))`: "a_seconds",
		`sum(max by (check) (1 - up_b)) or vector(0)`:                                        "up_b",
		`rate(c_sum[1m]) / rate(c_count[1m]) unless on (check) d == 1`:                       "c c d",
	} {
		if got := strings.Join(metricsOf(expr), " "); got != want {
			t.Errorf("%s has %q, want %q", expr, got, want)
		}
	}
}
