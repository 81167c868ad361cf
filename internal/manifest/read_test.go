// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/manifest"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// shop is a project with something of everything.
const shop = `version: 1
project: shop
defaults:
  check: {interval: 60s, regions: [eu-central-fra, na-east-ewr], labels: {team: shop}}
  rule:  {notify_on: both, channels: [oncall]}
channels:
  oncall: {name: On-call hook, type: webhook, config: {url: "https://hooks.example/x", secret: "${ONCALL_SECRET}"}}
checks:
  home:
    name: Home page
    type: https
    config: {url: "https://shop.example/", expected_status_codes: [2xx]}
    rules:
      down: {condition: {failure_threshold: 2}, region_policy: majority}
      slow: {condition: {response_time_ms: 2000}, channels: [oncall, "name:Team chat", "id:0b5c"]}
maintenance:
  deploys: {name: Deploys, scope: {checks: [home]}, starts_at: "2026-12-01T22:00", timezone: Europe/Berlin, duration: 30m}
status_pages:
  public: {slug: shop, title: Shop, groups: [{name: Web, checks: [home]}]}
subscriptions:
  everything: {channel: oncall, events: [incident.*], selector: {checks: [home]}}
moved: [{from: checks.frontpage, to: checks.home}]
`

func rules(tb testing.TB) manifest.Rules {
	tb.Helper()
	text, err := os.ReadFile("testdata/schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	schema, err := manifest.ParseSchema(text)
	if err != nil {
		tb.Fatal(err)
	}
	headers := secret.Fields{ByName: true}
	password := secret.Fields{Members: map[string]secret.Fields{"password": {Secret: true}}}
	return manifest.Rules{Schema: schema, Secrets: secret.Configs{
		Checks: map[vigil.CheckType]secret.Fields{
			"https": {Members: map[string]secret.Fields{"basic_auth": password, "headers": headers}}, "tcp": {},
		},
		Channels: map[vigil.ChannelType]secret.Fields{"webhook": {Members: map[string]secret.Fields{"secret": {Secret: true}}}},
	}}
}

// in writes files into a directory and returns it.
func in(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func options(tb testing.TB, env map[string]string) manifest.Options {
	tb.Helper()
	return manifest.Options{Rules: rules(tb), Env: func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}}
}

// problems returns what Read finds wrong, without the directory in the positions.
func problems(t *testing.T, dir string, err error) []string {
	t.Helper()
	found, ok := errors.AsType[manifest.Problems](err)
	if !ok {
		t.Fatalf("the error is %v, no problems", err)
	}
	var lines []string
	for _, problem := range found {
		lines = append(lines, strings.ReplaceAll(problem.String(), dir+"/", ""))
	}
	return lines
}

func TestReadMergesFilesAndDirectories(t *testing.T) {
	t.Parallel()
	checks, rest, _ := strings.Cut(shop, "maintenance:\n")
	dir := in(t, map[string]string{
		"a.yaml":     checks,
		"deep/b.yml": "version: 1\nproject: shop\nmaintenance:\n" + rest,
		"deep/c.json": `{"$schema": "x", "project": "shop",
			"checks": {"db": {"name": "Database \ud83d\ude00", "type": "tcp", "config": {"port": 5432}}}}`,
		".hidden.yaml":       "nonsense: [",
		".git/nonsense.yaml": "nonsense: [",
		"README.md":          "nonsense",
		"empty.yaml":         "# nothing\n",
	})
	read, err := manifest.Read([]string{dir}, options(t, map[string]string{"ONCALL_SECRET": `a"b: {`}))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(read.JSON(), &got); err != nil {
		t.Fatalf("%v in %s", err, read.JSON())
	}
	if read.Project != "shop" || read.Files != 4 || read.Count("checks") != 2 || read.Count("rules") != 2 || read.Count("status_pages") != 1 {
		t.Errorf("project %q of %d files has %d checks and %d rules", read.Project, read.Files, read.Count("checks"), read.Count("rules"))
	}
	secret := got["channels"].(map[string]any)["oncall"].(map[string]any)["config"].(map[string]any)["secret"]
	if secret != `a"b: {` {
		t.Errorf("the secret is %q", secret)
	}
	if name := got["checks"].(map[string]any)["db"].(map[string]any)["name"]; name != "Database 😀" {
		t.Errorf("the name is %q", name)
	}
	sources := read.Sources()
	if got := strings.TrimPrefix(sources["checks.home.rules.slow"], dir+"/"); got != "a.yaml:15" {
		t.Errorf("the rule is at %s", got)
	}
	if len(read.Warnings) != 0 {
		t.Errorf("warnings %v", read.Warnings)
	}
}

func TestReadFindsMistakes(t *testing.T) {
	t.Parallel()
	head := "version: 1\nproject: shop\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"UnknownMemberNamesTheNearest": {
			map[string]string{
				"a.yaml": head + "checks:\n  home:\n    name: Home\n    type: https\n    intervall: 60s\n    config: {url: x, header: {}}\n",
			},
			[]string{
				`a.yaml:7:5: checks.home: unknown member "intervall"; did you mean "interval"?`,
				`a.yaml:8:22: checks.home.config: unknown member "header"; did you mean "headers"?`,
			},
		},
		"UnknownSection": {
			map[string]string{"a.yaml": head + "cheks: {}\n"},
			[]string{`a.yaml:3:1: unknown member "cheks"; did you mean "checks"?`},
		},
		"MemberOfTheServer": {
			map[string]string{"a.yaml": head + "checks:\n  home: {id: x, name: Home, type: tcp}\n"},
			[]string{`a.yaml:4:10: checks.home: "id" is set by the server; leave it out`},
		},
		"MissingMember": {
			map[string]string{"a.yaml": head + "checks:\n  home:\n    type: tcp\n"},
			[]string{`a.yaml:5:5: checks.home: lacks the member "name"`},
		},
		"WrongTypesAndValues": {
			map[string]string{
				"a.yaml": head + "checks:\n  home: {name: 1, type: htps, enabled: yes}\n  db: {name: d, type: tcp, config: {port: 70000}}\n",
			},
			[]string{
				`a.yaml:4:16: checks.home.name: must be a text, and is a number; put it in quotes`,
				`a.yaml:4:25: checks.home.type: must be https or tcp, and is "htps"; did you mean "https"?`,
				`a.yaml:4:40: checks.home.enabled: must be true or false, and is a text`,
				`a.yaml:5:43: checks.db.config.port: must be at most 65535, and is 70000`,
			},
		},
		"KeyTwiceInAFile": {
			map[string]string{"a.yaml": head + "checks:\n  db: {name: d, type: tcp}\n  db: {name: d, type: tcp}\n"},
			[]string{`a.yaml:5:3: "db" is there twice; the first is at a.yaml:4:3`},
		},
		"KeyInTwoFiles": {
			map[string]string{
				"a.yaml": head + "checks:\n  db: {name: d, type: tcp}\n",
				"b.json": `{"checks": {` + "\n" + `  "db": {"name": "d", "type": "tcp"}}}`,
			},
			[]string{`b.json:2:3: checks.db: is there twice; the first is at a.yaml:4:3`},
		},
		"MemberTwiceInJSON": {
			map[string]string{"a.json": `{"version": 1, "project": "shop", "project": "x"}`},
			[]string{`a.json:1:35: "project" is there twice; the first is at a.json:1:16`},
		},
		"TwoProjects": {
			map[string]string{"a.yaml": head + "checks: {db: {name: d, type: tcp}}\n", "b.yaml": "project: stop\n"},
			[]string{`b.yaml:1:10: project: is "stop", and "shop" at a.yaml:2:10; all files of a project have the same`},
		},
		"NoProjectAndNoVersion": {
			map[string]string{"a.yaml": "checks: {}\n"},
			[]string{
				`a.yaml: version: is missing; write version: 1`,
				`a.yaml: project: is missing; it names the owner of what the files describe, such as project: shop`,
			},
		},
		"NothingInIt": {
			map[string]string{"a.yaml": head},
			[]string{`a.yaml: no resource in the files; --allow-empty accepts that`},
		},
		"MissingVariablesAreListedAtOnce": {
			map[string]string{
				"a.yaml": head + "checks:\n  a: {name: \"${A}\", type: tcp}\n  b: {name: \"${B} ${A}\", type: tcp}\n" +
					"  c: {name: \"${b-x}\", type: tcp}\n  d: {name: \"${C\", type: tcp}\n",
			},
			[]string{
				`a.yaml:4:13: the variable A is not set (used 2 times); set it, or write ${A:-default}`,
				`a.yaml:5:13: the variable B is not set; set it, or write ${B:-default}`,
				"a.yaml:6:13: \"${b-x}\" is no variable: write ${NAME}, ${NAME:-default} or ${file:/path}, and \"$${\" for a literal \"${\"",
				"a.yaml:7:13: \"${\" without \"}\"; a literal \"${\" is written \"$${\"",
			},
		},
		"ReferencesToNothing": {
			map[string]string{"a.yaml": strings.NewReplacer("[oncall, ", "[oncal, ", "scope: {checks: [home]}", "scope: {checks: [hom]}",
				"checks: [home]}]", "checks: [{check: house}]}]", "channel: oncall,", "channel: oncal,", "${ONCALL_SECRET}", "").Replace(shop)},
			[]string{
				`a.yaml:15:62: checks.home.rules.slow.channels[0]: there is no channel "oncal" in the files; did you mean "oncall"?`,
				`a.yaml:17:45: maintenance.deploys.scope.checks[0]: there is no check "hom" in the files; did you mean "home"?`,
				`a.yaml:19:75: status_pages.public.groups[0].checks[0].check: there is no check "house" in the files; did you mean "home"?`,
				`a.yaml:21:25: subscriptions.everything.channel: there is no channel "oncal" in the files; did you mean "oncall"?`,
			},
		},
		"BrokenYAML": {
			map[string]string{"a.yaml": "version: 1\nproject: \"shop\n"},
			[]string{`a.yaml:2:10: could not find end character of double-quoted text`},
		},
		"BrokenJSON": {
			map[string]string{"a.json": "{\"version\": 1,\n \"project\": shop}"},
			[]string{`a.json:2:13: is no JSON: invalid character 's' looking for beginning of value`},
		},
		"NoObject": {
			map[string]string{"a.yaml": "- 1\n"},
			[]string{
				`a.yaml:1:1: the document must be an object with members such as project and checks, and is a list`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := in(t, test.files)
			_, err := manifest.Read([]string{dir}, options(t, nil))
			got := problems(t, dir, err)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], dir+"/", "")
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// A problem of the server has the position of the value, also of one in the defaults.
func TestProblemsOfTheServerHavePositions(t *testing.T) {
	t.Parallel()
	dir := in(t, map[string]string{"a.yaml": shop})
	read, err := manifest.Read([]string{dir}, options(t, map[string]string{"ONCALL_SECRET": "x"}))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"checks.home.config.url":                            "a.yaml:12:14",
		"checks.home.rules.down.condition":                  "a.yaml:14:14",
		"checks.home.rules.down.condition.response_time_ms": "a.yaml:14:14",
		"checks.home.rules.slow.channels[1]":                "a.yaml:15:70",
		"checks.home.interval_seconds":                      "a.yaml:4:11",
		"checks.home.regions[1]":                            "a.yaml:4:52",
		"checks.home.rules.down.notify_on":                  "a.yaml:5:11",
		"checks.home.labels.team":                           "a.yaml:4:75",
		"checks.home.simultaneous_regions":                  "a.yaml:9:3",
		"moved[0].from":                                     "a.yaml:22:10",
		"checks.other":                                      "a.yaml:8:1",
		"":                                                  "",
	} {
		if got := strings.TrimPrefix(read.Explain(path, "x").Position.String(), dir+"/"); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
}

func TestTrialsHaveTheDefaults(t *testing.T) {
	t.Parallel()
	dir := in(t, map[string]string{"a.yaml": shop})
	read, err := manifest.Read([]string{dir}, options(t, map[string]string{"ONCALL_SECRET": "x"}))
	if err != nil {
		t.Fatal(err)
	}
	trials := read.Trials()
	if len(trials) != 1 || trials[0].Key != "home" || trials[0].Type != "https" || trials[0].Name != "Home page" ||
		strings.Join(trials[0].Regions, " ") != "eu-central-fra na-east-ewr" ||
		string(trials[0].Config) != `{"url":"https://shop.example/","expected_status_codes":["2xx"]}` {
		t.Errorf("the trials are %+v", trials)
	}
}

// A mounted ConfigMap has links to files in a hidden directory.
func TestLinksToFilesAreFollowed(t *testing.T) {
	t.Parallel()
	dir := in(t, map[string]string{"..2026/a.yaml": "version: 1\nproject: shop\nchecks: {db: {name: d, type: tcp}}\n"})
	if err := os.Symlink("..2026", filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..data/a.yaml", filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "vigil") // the directory itself may be named by a link
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, link} {
		read, err := manifest.Read([]string{path}, options(t, nil))
		if err != nil || read.Files != 1 || read.Count("checks") != 1 {
			t.Errorf("%s: %+v, %v", path, read, err)
		}
	}
}

// TestByteOrderMark holds that the mark with which some editors begin a text is no part of it.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a.yaml": "version: 1\nproject: shop\nchecks:\n  a: {name: A, type: tcp}\n",
		"a.json": `{"version": 1, "project": "shop", "checks": {"a": {"name": "A", "type": "tcp"}}}`,
	} {
		read, err := manifest.Read([]string{in(t, map[string]string{name: "\ufeff" + text})}, manifest.Options{})
		if err != nil || read.Project != "shop" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnchorsAndMergedKeys(t *testing.T) {
	t.Parallel()
	dir := in(t, map[string]string{"a.yaml": `version: 1
project: shop
checks:
  a: &base {name: A, type: tcp, labels: {l: "$${X}"}, config: &config {port: 1}}
  b: {<<: *base, name: B}
  c: {<<: [*base], name: C, config: {<<: *config, host: h}}
`})
	read, err := manifest.Read([]string{dir}, options(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"project":"shop","checks":{` +
		`"a":{"name":"A","type":"tcp","labels":{"l":"${X}"},"config":{"port":1}},` +
		`"b":{"name":"B","type":"tcp","labels":{"l":"${X}"},"config":{"port":1}},` +
		`"c":{"name":"C","config":{"host":"h","port":1},"type":"tcp","labels":{"l":"${X}"}}}}`
	if got := string(read.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
