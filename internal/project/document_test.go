// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/project"
)

func TestReadDocument(t *testing.T) {
	t.Parallel()
	t.Run("NamesEveryMistake", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]string{
			`7`:                                    ": must be an object",
			`{}`:                                   "version: is required",
			`{"version":1} {}`:                     ": must be one object",
			`{"version":2}`:                        "version: must be 1",
			`{"version":1,"project":"a b"}`:        "project: must have",
			`{"version":1,"cheks":{}}`:             `cheks: is not a section of the file format; did you mean "checks"?`,
			`{"version":1,"defaults":{"chek":{}}}`: `defaults.chek: is not a kind of definition; did you mean "check"?`,
			`{"version":1,"defaults":{"check":7}}`: "defaults.check: must be an object",
			`{"version":1,"checks":[]}`:            "checks: must be an object",
			`{"version":1,"checks":{"-a":{}}}`:     "checks.-a: has a key",
			`{"version":1,"checks":{"a":7}}`:       "checks.a: must be an object",
			`{"version":1,"checks":{"a":{"rules":{"b":1}}}}`:                                 "checks.a.rules.b: must be an object",
			`{"version":1,"checks":{"a":{"rules":[]}}}`:                                      "checks.a.rules: must be an object",
			`{"version":1,"moved":[{"from":"x","two":"y"}]}`:                                 "moved: must be a list",
			`{"version":1,"checks":{"a":{"interval":60}}}`:                                   "checks.a.interval: must be a duration such as",
			`{"version":1,"checks":{"a":{"interval":"1x"}}}`:                                 "checks.a.interval: must be a duration",
			`{"version":1,"checks":{"a":{"interval":"1.5s"}}}`:                               "checks.a.interval: must be a duration of whole",
			`{"version":1,"checks":{"a":{"interval":"1m","interval_seconds":60}}}`:           "checks.a.interval: says the same",
			`{"version":1,"checks":{"a":{"config":{"timeout":"x"}}}}`:                        "checks.a.config.timeout: must be a duration",
			`{"version":1,"checks":{"a":{"config":{"steps":[{"config":{"timeout":"x"}}]}}}}`: "checks.a.config.steps[0].config.timeout: must be",
		} {
			document, problems := project.ReadDocument([]byte(text))
			_, more := document.Wanted()
			problems = append(problems, more...)
			if len(problems) != 1 || !strings.HasPrefix(problems[0].Path+": "+problems[0].Message, want) {
				t.Errorf("%s: got %v, want %s", text, problems, want)
			}
		}
	})
	t.Run("FillsDefaultsAndConvertsDurations", func(t *testing.T) {
		t.Parallel()
		document, problems := project.ReadDocument([]byte(`{"version":1,
			"defaults":{"check":{"interval":"1h","regions":["a","b"],"labels":{"team":"shop","tier":"1"}},"rule":{"notify_on":"both"}},
			"checks":{"home":{"regions":["c"],"labels":{"tier":"2"},"config":{"timeout":"9s"},"rules":{"down":{"name":"Down"},"slow":{}}}}}`))
		wanted, more := document.Wanted()
		if len(problems)+len(more) != 0 {
			t.Fatal(problems, more)
		}
		var got []string
		for _, w := range wanted {
			text, err := json.Marshal(w.Members)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s %s", w.Kind, w.Path(), text))
		}
		want := []string{
			`check checks.home {"config":{"timeout_seconds":9},"interval_seconds":3600,"labels":{"team":"shop","tier":"2"},` +
				`"name":"home","regions":["c"]}`,
			`rule checks.home.rules.down {"name":"Down","notify_on":"both"}`,
			`rule checks.home.rules.slow {"name":"slow","notify_on":"both"}`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if document.Checks["home"]["interval_seconds"] != nil {
			t.Error("filling has changed the document")
		}
	})
}

func TestPathsOfADocument(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"checks.home": "check home", "checks.home.rules.down": "rule home/down", "channels.on.call": "channel on.call",
		"status_pages.public": "status_page public", "maintenance.deploys": "maintenance deploys",
	} {
		kind, key, ok := project.ParsePath(path)
		if !ok || string(kind)+" "+key != want || project.PathOf(kind, key) != path {
			t.Errorf("%s: got %s %s %v, back %s", path, kind, key, ok, project.PathOf(kind, key))
		}
	}
	for _, wrong := range []string{"", "checks", "checks.", "rules.a", "checks.a/b", "checks.a.rules."} {
		if kind, key, ok := project.ParsePath(wrong); ok {
			t.Errorf("%q is the path of %s %s", wrong, kind, key)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	const id = "0191d2a7-6c1f-7000-8000-000000000001"
	for text, want := range map[string]project.Reference{
		"home": {Key: "home"}, "name: Team chat": {Name: "Team chat"}, "name:a:b": {Name: "a:b"}, "id:" + id: {ID: uuid.MustParse(id)},
	} {
		if got, err := project.ParseReference(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, wrong := range []string{"", "name:", "name: ", "id:7", "a b", "-a"} {
		if got, err := project.ParseReference(wrong); err == nil {
			t.Errorf("%q: got %v", wrong, got)
		}
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"0s": 0, "90s": 90, "2m": 120, "1h": 3600, "1h30m": 5400, " 5m ": 300} {
		got, err := project.ParseSeconds(text)
		again, errAgain := project.ParseSeconds(project.FormatSeconds(want))
		if err != nil || errAgain != nil || got != want || again != want {
			t.Errorf("%q: got %d, %v; again %d, %v", text, got, err, again, errAgain)
		}
	}
	for _, wrong := range []string{"", "60", "-1s", "0.5s", "1d"} {
		if got, err := project.ParseSeconds(wrong); err == nil {
			t.Errorf("%q: got %d", wrong, got)
		}
	}
}
