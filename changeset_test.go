// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// item is a definition of a changeset, from JSON.
func item(key, members string, changes ...func(*vigil.Item)) *vigil.Item {
	one := &vigil.Item{Kind: vigil.KindCheck, Key: key, Name: key, Members: vigil.DecodeMembers(json.RawMessage(members))}
	one.Secrets = vigil.SecretFields{Members: map[string]vigil.SecretFields{
		"password": {Secret: true}, "headers": {ByName: true}, "keys": {Secret: true},
	}}
	for _, change := range changes {
		change(one)
	}
	return one
}

func storedAt(version, applied int64) func(*vigil.Item) {
	return func(i *vigil.Item) {
		i.ID, i.Version, i.Applied = uuid.NewSHA1(uuid.Nil, []byte(i.Key)), version, applied
	}
}

func setOf(missing vigil.Missing, hide bool, pairs ...vigil.Pair) vigil.Changeset {
	return vigil.NewChangeset(pairs, vigil.ChangesetOptions{Project: "shop", Missing: missing, HideSecrets: hide})
}

func described(t *testing.T, a vigil.Action) string {
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
		pair    vigil.Pair
		missing vigil.Missing
		hide    bool
		want    string
	}{
		"Create": {
			pair: vigil.Pair{Wanted: item("home", `{"name":"Home","config":{"password":"p","url":"u"}}`)},
			want: `create config.password secret config.url[null,"u"] name[null,"Home"]`,
		},
		"NothingDiffers": {
			pair: vigil.Pair{Stored: item("home", home, storedAt(3, 1)), Wanted: item("home",
				`{"labels":null,"regions":["x","y"],"config":{"n":1,"url":"https://a","body":null},"name":"Home"}`)},
			want: "none",
		},
		"OrderOfRegionsCounts": {
			pair: vigil.Pair{Stored: item("home", `{"regions":["x","y"]}`, storedAt(1, 1)), Wanted: item("home", `{"regions":["y","x"]}`)},
			want: `change regions[["x","y"],["y","x"]]`,
		},
		"ChangedOutside": {
			pair: vigil.Pair{Stored: item("home", `{"interval":"10s"}`, storedAt(5, 4)), Wanted: item("home", `{"interval":"60s"}`)},
			want: `restore interval["10s","60s"]`,
		},
		"SecretsAreNotShown": {
			pair: vigil.Pair{
				Stored: item("home", `{"config":{"password":"old","headers":{"Authorization":"a","X-Team":"t"},"keys":["a"]}}`, storedAt(1, 1)),
				Wanted: item("home", `{"config":{"password":"new","headers":{"Authorization":"b","X-Team":"u"},"keys":["a","b"]}}`),
			},
			want: `change config.headers.Authorization secret config.headers.X-Team["t","u"] ` +
				`config.keys[["***"],["***","***"]] config.password secret`,
		},
		"SecretsAreUnknownWhenHidden": {
			pair: vigil.Pair{
				Stored: item("home", `{"config":{"password":"old"}}`, storedAt(1, 1)),
				Wanted: item("home", `{"config":{"password":"new"}}`),
			},
			hide: true, want: "none config.password secret unknown",
		},
		"ASecretThatAppearsIsShownWhenHidden": {
			pair: vigil.Pair{Stored: item("home", `{"config":{}}`, storedAt(1, 1)), Wanted: item("home", `{"config":{"password":"new"}}`)},
			hide: true, want: "change config.password secret",
		},
		"StepsAreComparedOneByOne": {
			pair: vigil.Pair{
				Stored: item("home", `{"config":{"steps":[{"a":1},{"a":2}]}}`, storedAt(1, 1)),
				Wanted: item("home", `{"config":{"steps":[{"a":1},{"a":3}]}}`),
			},
			want: "change config.steps[1].a[2,3]",
		},
		"Moved": {
			pair: vigil.Pair{Stored: item("frontpage", home, storedAt(1, 1)), Wanted: item("home", home)},
			want: `change managed_by.key["frontpage","home"]`,
		},
		"Adopted": {
			pair: vigil.Pair{Stored: item("", home, storedAt(4, 0)), Wanted: item("home", home), Adopted: true},
			want: `change managed_by.key[null,"home"]`,
		},
		"MissingIsKept": {
			pair:    vigil.Pair{Stored: item("home", home, storedAt(1, 1))},
			missing: vigil.MissingKeep, want: "leave",
		},
		"MissingIsReleased": {
			pair:    vigil.Pair{Stored: item("home", home, storedAt(1, 1))},
			missing: vigil.MissingRelease, want: "release",
		},
		"MissingIsDeleted": {
			pair:    vigil.Pair{Stored: item("home", home, storedAt(1, 1))},
			missing: vigil.MissingDelete, want: "delete",
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
	plan := func(hide bool, stored, wanted *vigil.Item) string {
		return setOf(vigil.MissingKeep, hide, vigil.Pair{Stored: stored, Wanted: wanted}).Plan
	}
	base := plan(false, item("home", before, storedAt(1, 1)), item("home", after))
	if len(base) != 32 || base != plan(false, item("home", before, storedAt(1, 1)), item("home", after)) {
		t.Fatalf("the plan %q is not the same twice", base)
	}
	others := []string{
		plan(false, item("home", before, storedAt(2, 1)), item("home", after)),
		plan(false, item("other", before, storedAt(1, 1)), item("other", after)),
		plan(false, item("home", before, storedAt(1, 1)), item("home", before)),
		setOf(vigil.MissingDelete, false, vigil.Pair{Stored: item("home", before, storedAt(1, 1)), Wanted: item("home", after)}).Plan,
		setOf(vigil.MissingKeep, false, vigil.Pair{Wanted: item("home", after)}).Plan,
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
