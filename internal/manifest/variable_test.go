// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/manifest"
)

func TestVariables(t *testing.T) {
	t.Parallel()
	dir := in(t, map[string]string{"secret": "from a file\r\n", "deep/other": "near"})
	env := map[string]string{"A": "${B}", "EMPTY": "", "QUOTE": `"x": [`}
	for text, want := range map[string]string{
		"plain":                       "plain",
		"pa$word $1 $$ $":             "pa$word $1 $$ $",
		"${A}":                        "${B}",
		"x${A}y${QUOTE}z":             `x${B}y"x": [z`,
		"${EMPTY}":                    "",
		"${EMPTY:-standard}":          "standard",
		"${NONE:-}":                   "",
		"${NONE:-a:-b}":               "a:-b",
		"$${A}":                       "${A}",
		"$$${A}":                      "$${A}",
		"$${A} ${A}":                  "${A} ${B}",
		"${file:" + dir + "/secret}":  "from a file",
		"${file:deep/other} and more": "near and more",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, strings.Map(func(r rune) rune {
				if strings.ContainsRune("/$:{}", r) {
					return '_'
				}
				return r
			}, text)+".yaml")
			document := "version: 1\nproject: shop\nchecks: {a: {name: x, type: tcp, labels: {l: " + string(quoted) + "}}}\n"
			if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
				t.Fatal(err)
			}
			read, err := manifest.Read([]string{file}, options(t, env))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Checks struct {
					A struct{ Labels struct{ L string } }
				}
			}
			if err := json.Unmarshal(read.JSON(), &got); err != nil || got.Checks.A.Labels.L != want {
				t.Errorf("%q is %q, want %q (%v)", text, got.Checks.A.Labels.L, want, err)
			}
		})
	}
}

func TestSecretsInFilesAreWarnings(t *testing.T) {
	t.Parallel()
	dir := in(t, map[string]string{"a.yaml": `version: 1
project: shop
channels:
  hook: {type: webhook, config: {url: "https://x", secret: hunter2}}
  good: {type: webhook, config: {url: "https://x", secret: "${S:-}"}}
checks:
  home:
    name: Home
    type: https
    config: {url: x, headers: {Accept: text, Authorization: Bearer x}, basic_auth: {username: ada, password: "${S:-x}"}}
`})
	want := `a.yaml:4:60: channels.hook.config.secret: a secret stands in the file; write a variable such as ${CHANNEL_HOOK_SECRET}
a.yaml:10:61: checks.home.config.headers.Authorization: a secret stands in the file; write a variable such as ${CHECK_HOME_AUTHORIZATION}`
	o := options(t, nil)
	read, err := manifest.Read([]string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(problems(t, dir, read.Warnings), "\n"); got != want {
		t.Errorf("warnings\n%s\nwant\n%s", got, want)
	}
	o.Strict = true
	_, err = manifest.Read([]string{dir}, o)
	if got := strings.Join(problems(t, dir, err), "\n"); got != want {
		t.Errorf("problems\n%s\nwant\n%s", got, want)
	}
}
