// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime/debug"
	"testing"
)

func TestBuildName(t *testing.T) {
	t.Parallel()
	const revision = "0123456789abcdef0123456789abcdef01234567"
	recorded := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
	}
	for name, c := range map[string]struct {
		commit   string
		settings []debug.BuildSetting // nil: Go recorded nothing
		want     string
	}{
		"a release":                 {revision, nil, "v1.2.3 0123456789ab"},
		"go build of a clean clone": {"", recorded(revision, "false"), "v1.2.3 0123456789ab"},
		"what is not committed":     {revision, recorded(revision, "true"), ""},
		"no clone":                  {"", []debug.BuildSetting{}, ""},
		"a commit of seven letters": {"0123456", nil, "v1.2.3 0123456"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := buildName("v1.2.3", c.commit, func() (*debug.BuildInfo, bool) {
				return &debug.BuildInfo{Settings: c.settings}, c.settings != nil
			})
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
