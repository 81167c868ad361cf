// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// item is a definition of a changeset, from JSON.
func item(key, members string, changes ...func(*project.Item)) *project.Item {
	one := &project.Item{Kind: project.KindCheck, Key: key, Name: key, Members: project.DecodeMembers(json.RawMessage(members))}
	one.Secrets = secret.Fields{Members: map[string]secret.Fields{
		"password": {Secret: true}, "headers": {ByName: true}, "keys": {Secret: true},
	}}
	for _, change := range changes {
		change(one)
	}
	return one
}

func storedAt(version, applied int64) func(*project.Item) {
	return func(i *project.Item) {
		i.ID, i.Version, i.Applied = uuid.NewSHA1(uuid.Nil, []byte(i.Key)), version, applied
	}
}

func setOf(missing project.Missing, hide bool, pairs ...project.Pair) project.Changeset {
	return project.NewChangeset(pairs, project.ChangesetOptions{Project: "shop", Missing: missing, HideSecrets: hide})
}

func described(t *testing.T, a project.Action) string {
	t.Helper()
	texts := []string{string(a.Action)}
	for _, m := range a.Members {
		values, err := json.Marshal([]any{m.From, m.To})
		if err != nil {
			t.Fatal(err)
		}
		one := m.Path + string(values)
		if m.Secret {
			one = m.Path + " secret"
		}
		if m.Unknown {
			one += " unknown"
		}
		texts = append(texts, one)
	}
	return strings.Join(texts, " ")
}

func TestChangeset(t *testing.T) {
	t.Parallel()
	const home = `{"name":"Home","config":{"url":"https://a","n":1.0},"regions":["x","y"],"labels":{}}`
	for name, tt := range map[string]struct {
		pair    project.Pair
		missing project.Missing
		hide    bool
		want    string
	}{
		"Create": {
			pair: project.Pair{Wanted: item("home", `{"name":"Home","config":{"password":"p","url":"u"}}`)},
			want: `create config.password secret config.url[null,"u"] name[null,"Home"]`,
		},
		"NothingDiffers": {
			pair: project.Pair{Stored: item("home", home, storedAt(3, 1)), Wanted: item("home",
				`{"labels":null,"regions":["x","y"],"config":{"n":1,"url":"https://a","body":null},"name":"Home"}`)},
			want: "none",
		},
		"OrderOfRegionsCounts": {
			pair: project.Pair{Stored: item("home", `{"regions":["x","y"]}`, storedAt(1, 1)), Wanted: item("home", `{"regions":["y","x"]}`)},
			want: `change regions[["x","y"],["y","x"]]`,
		},
		"ChangedOutside": {
			pair: project.Pair{Stored: item("home", `{"interval":"10s"}`, storedAt(5, 4)), Wanted: item("home", `{"interval":"60s"}`)},
			want: `restore interval["10s","60s"]`,
		},
		"SecretsAreNotShown": {
			pair: project.Pair{
				Stored: item("home", `{"config":{"password":"old","headers":{"Authorization":"a","X-Team":"t"},"keys":["a"]}}`, storedAt(1, 1)),
				Wanted: item("home", `{"config":{"password":"new","headers":{"Authorization":"b","X-Team":"u"},"keys":["a","b"]}}`),
			},
			want: `change config.headers.Authorization secret config.headers.X-Team["t","u"] ` +
				`config.keys[["***"],["***","***"]] config.password secret`,
		},
		"SecretsAreUnknownWhenHidden": {
			pair: project.Pair{
				Stored: item("home", `{"config":{"password":"old"}}`, storedAt(1, 1)),
				Wanted: item("home", `{"config":{"password":"new"}}`),
			},
			hide: true, want: "none config.password secret unknown",
		},
		"ASecretThatAppearsIsShownWhenHidden": {
			pair: project.Pair{Stored: item("home", `{"config":{}}`, storedAt(1, 1)), Wanted: item("home", `{"config":{"password":"new"}}`)},
			hide: true, want: "change config.password secret",
		},
		"StepsAreComparedOneByOne": {
			pair: project.Pair{
				Stored: item("home", `{"config":{"steps":[{"a":1},{"a":2}]}}`, storedAt(1, 1)),
				Wanted: item("home", `{"config":{"steps":[{"a":1},{"a":3}]}}`),
			},
			want: "change config.steps[1].a[2,3]",
		},
		"Moved": {
			pair: project.Pair{Stored: item("frontpage", home, storedAt(1, 1)), Wanted: item("home", home)},
			want: `change managed_by.key["frontpage","home"]`,
		},
		"Adopted": {
			pair: project.Pair{Stored: item("", home, storedAt(4, 0)), Wanted: item("home", home), Adopted: true},
			want: `change managed_by.key[null,"home"]`,
		},
		"MissingIsKept": {
			pair:    project.Pair{Stored: item("home", home, storedAt(1, 1))},
			missing: project.MissingKeep, want: "leave",
		},
		"MissingIsReleased": {
			pair:    project.Pair{Stored: item("home", home, storedAt(1, 1))},
			missing: project.MissingRelease, want: "release",
		},
		"MissingIsDeleted": {
			pair:    project.Pair{Stored: item("home", home, storedAt(1, 1))},
			missing: project.MissingDelete, want: "delete",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := setOf(tt.missing, tt.hide, tt.pair)
			if got := described(t, set.Actions[0]); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestPlanOfAChangeset(t *testing.T) {
	t.Parallel()
	const before, after = `{"interval":"10s","config":{"password":"a"}}`, `{"interval":"60s","config":{"password":"a"}}`
	plan := func(hide bool, stored, wanted *project.Item) string {
		return setOf(project.MissingKeep, hide, project.Pair{Stored: stored, Wanted: wanted}).Plan
	}
	base := plan(false, item("home", before, storedAt(1, 1)), item("home", after))
	if len(base) != 32 || base != plan(false, item("home", before, storedAt(1, 1)), item("home", after)) {
		t.Fatalf("the plan %q is not the same twice", base)
	}
	others := []string{
		plan(false, item("home", before, storedAt(2, 1)), item("home", after)),
		plan(false, item("other", before, storedAt(1, 1)), item("other", after)),
		plan(false, item("home", before, storedAt(1, 1)), item("home", before)),
		setOf(project.MissingDelete, false, project.Pair{Stored: item("home", before, storedAt(1, 1)), Wanted: item("home", after)}).Plan,
		setOf(project.MissingKeep, false, project.Pair{Wanted: item("home", after)}).Plan,
	}
	if slices.Contains(others, base) {
		t.Errorf("other versions, keys, actions and policies have the plan %s, too: %v", base, others)
	}
	const guess = `{"interval":"10s","config":{"password":"b"}}`
	for _, hide := range []bool{false, true} {
		right := plan(hide, item("home", before, storedAt(1, 1)), item("home", before))
		wrong := plan(hide, item("home", before, storedAt(1, 1)), item("home", guess))
		if right != wrong {
			t.Errorf("the plan says whether a secret was guessed: %s and %s", right, wrong)
		}
	}
	hidden := plan(true, item("home", before, storedAt(1, 1)), item("home", after))
	if hidden != base {
		t.Errorf("a plan without secrets is %s, with them %s", hidden, base)
	}
}
