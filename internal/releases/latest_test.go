// SPDX-License-Identifier: Apache-2.0

package releases_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/releases"
)

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// TestLatestIsChecked has descriptions that somebody made to confuse; each is refused by the member.
func TestLatestIsChecked(t *testing.T) {
	t.Parallel()
	good := `{"schema":1,"version":"v1.2.0","released_at":"2026-09-21T14:13:20Z","commit":"0123456789abcdef",` +
		`"minimum_upgrade_from":"v1.0.0","notes":"- more","files":[{"name":"a_1+b~c.tar.gz","size":1,"sha256":"` + sum + `"}],"new":1}`
	if l, err := releases.Parse([]byte(good)); err != nil || l.Version != "v1.2.0" || len(l.Files) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"Schema":        {`"schema":1`, `"schema":2`, "schema is 2"},
		"NoVersion":     {`"v1.2.0"`, `""`, "version"},
		"ShortVersion":  {`"v1.2.0"`, `"v1.2"`, "version"},
		"Escape":        {`"v1.2.0"`, `"v1.2.0-\u001b[2J"`, "version"},
		"Minimum":       {`"v1.0.0"`, `"latest"`, "minimum_upgrade_from"},
		"Commit":        {`0123456789abcdef`, `$(reboot)`, "commit"},
		"Time":          {`2026-09-21T14:13:20Z`, `0001-01-01T00:00:00Z`, "released_at"},
		"Path":          {`a_1+b~c.tar.gz`, `../etc/passwd`, "files[0].name"},
		"Option":        {`a_1+b~c.tar.gz`, `-rf`, "files[0].name"},
		"Digest":        {sum, `00`, "files[0].sha256"},
		"Size":          {`"size":1`, `"size":-1`, "files[0].size"},
		"Type":          {`"files":[`, `"files":7,"other":[`, "no description of a release"},
		"Trailing":      {`"new":1}`, `"new":1}{}`, "more than one"},
		"Notes":         {`- more`, strings.Repeat("a", 257<<10), "notes"},
		"Depth":         {`"new":1`, `"new":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "no description"},
		"NotUTF8":       {`- more`, "\xff", "UTF-8"},
		"MoreThanAMiB":  {`- more`, strings.Repeat("a", 1<<20), "more than"},
		"ManyFiles":     {`"files":[`, `"files":[` + strings.Repeat(`{},`, 500), "files are more"},
		"HalfADocument": {`"new":1}`, ``, "no description"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := releases.Parse([]byte(strings.Replace(good, c.from, c.to, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%.200v, want %s", err, c.want)
			}
		})
	}
	turned, err := releases.Parse([]byte(strings.Replace(good, "- more", `a\u001b[2J\r\u202eb\nc`, 1)))
	if err != nil || turned.Notes != "a[2Jb\nc" {
		t.Errorf("the notes are %q, %v", turned.Notes, err)
	}
}

func TestLatestIsCompared(t *testing.T) {
	t.Parallel()
	l := releases.New("v1.2.0", "", time.Unix(1790000000, 0), "", nil)
	l.MinimumUpgradeFrom = "v1.0.0"
	for version, want := range map[string]releases.Verdict{
		"v1.1.9": releases.Newer, "v1.2.0": releases.Current, "v1.3.0": releases.Current, "v2.0.0": releases.Current,
		"v0.9.0": releases.TooFar, "v1.2.0-rc.1": releases.Newer, "v1.1.0-3-g0123abc-dirty": releases.Newer,
		"v1.2.0-3-g0123abc": releases.Current, "v1.2.0-dirty": releases.Current, "1.1.0": releases.Newer,
		"0123abc": releases.Unknown, "1234567": releases.Unknown, "unknown": releases.Unknown, "": releases.Unknown,
	} {
		if got := l.Judge(version); got != want {
			t.Errorf("%q is %s, want %s", version, got, want)
		}
	}
	written, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := releases.Parse(written); err != nil {
		t.Errorf("what New makes is refused: %v", err)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	const changelog = "# Changelog\n\n## [Unreleased]\n\nnew\n\n## [1.2.0] - 2026-09-21\n\n### Added\n\n- a\n\n## [1.1.0]\n\nold\n"
	for version, want := range map[string]string{"v1.2.0": "### Added\n\n- a", "v1.1.0": "old", "v9.0.0": "new", "0123abc": "new"} {
		if got := releases.Notes(changelog, version); got != want {
			t.Errorf("%s: %q", version, got)
		}
	}
}
