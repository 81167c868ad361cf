// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/cmd/vigil-agent/agentcmd"
	"github.com/vigil-monitor/vigil/internal/platform"
)

const settingsIntro = `# Settings

<!-- Made from internal/platform/settings.go; renew it with: go test ./cmd/vigil -run TestSettingsDocument -update -->

Each setting of the server commands is an environment variable, and a flag of the same name
without ` + "`VIGIL_`" + `. The flag wins. An empty variable counts as not set, unless
its range has "nothing". All server commands accept all settings, so that their processes can
share one environment; the last column lists those that use one. Those of [agents](#agents) are for ` + "`vigil agent`" + `
and ` + "`vigil-agent`" + ` alone, and their flags have no ` + "`agent-`" + `.
Durations are written as ` + "`500ms`, `30s`, `72h` or `90d`" + `.

`

const settingsEnd = `
## Variables of others

| variable | what it is |
|---|---|
| ` + "`VIGIL_URL`, `VIGIL_API_KEY`, `VIGIL_CONTEXT`" + ` | the server and the key of the client commands: [cli.md](cli.md#log-in) |
| ` + "`VIGIL_PING_URL`" + ` | the address that ` + "`vigil run`" + ` reports to: [heartbeats.md](heartbeats.md#vigil-run) |
| ` + "`VIGIL_AGENT_TOKEN`" + ` | the token of an agent, instead of a file: [agents.md](agents.md#install-an-agent) |
| ` + "`HTTPS_PROXY`, `NO_PROXY`" + ` | the proxy between an agent and the platform: [agents.md](agents.md#proxies-and-own-certificates) |
| ` + "`TEMPORAL_TLS`, `TEMPORAL_API_KEY`, `TEMPORAL_CONFIG_FILE` ..." + ` |` +
	` how to connect to Temporal, as its own tools read them: [operations.md](operations.md#tls-and-keys) |
| ` + "`GOMEMLIMIT`, `GOGC`" + ` | memory of Go's runtime: [operations.md](operations.md#memory) |
| ` + "`GOMAXPROCS`" + ` | processors that a process uses: [operations.md](operations.md#processors) |
| ` + "`XDG_CONFIG_HOME`, `XDG_DATA_HOME`" + ` | where the contexts of the client and the data directory are |
`

// TestSettingsDocument compares docs/settings.md with the settings; renew it with -update.
func TestSettingsDocument(t *testing.T) {
	t.Parallel()
	const path = "../../docs/settings.md"
	got := settingsDocument(append(knownSettings(), agentSettings()...))
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("docs/settings.md is not what the settings say (%v); renew it with: go test ./cmd/vigil -run TestSettingsDocument -update", err)
	}
}

// agentSettings are the settings of `vigil agent`.
func agentSettings() []platform.Setting {
	var all []platform.Setting
	for _, field := range agentcmd.Fields() {
		all = append(all, platform.Setting{
			Variable: field.Tag.Get("env"), Fallback: field.Tag.Get("envDefault"), Empty: field.Tag.Get("empty"),
			Help: strings.ReplaceAll(field.Tag.Get("help"), "~", "`"), Field: field,
		})
	}
	return all
}

// Every setting says which commands use it and belongs to a section; what it links to is there.
func TestSettingsAreDescribed(t *testing.T) {
	t.Parallel()
	var commands []string
	for _, cmd := range serverCommands() {
		commands = append(commands, cmd.Name())
	}
	for i, s := range append(knownSettings(), agentSettings()...) {
		use := strings.Fields(s.Field.Tag.Get("use"))
		if len(use) == 0 || s.Help == "" {
			t.Errorf("%s has no use or no help", s.Variable)
		}
		for _, name := range use {
			if !slices.Contains(commands, name) {
				t.Errorf("%s: there is no command %s", s.Variable, name)
			}
		}
		if i == 0 && s.Field.Tag.Get("section") == "" {
			t.Errorf("%s is the first setting and begins no section", s.Variable)
		}
		if more := s.Field.Tag.Get("more"); more != "" && !hasHeading(t, more) {
			t.Errorf("%s: there is no %s in docs", s.Variable, more)
		}
	}
}

// A value at the end of a range is accepted, one beyond it is named.
func TestSettingsRanges(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, s := range knownSettings() {
		for name, past := range map[string]float64{"min": -1, "max": 1} {
			end := s.Field.Tag.Get(name)
			if end == "" {
				continue
			}
			tried++
			if errs := platform.CheckRanges(withValue(t, s, end, 0)); len(errs) > 0 {
				t.Errorf("%s %s: %v", s.Variable, end, errs)
			}
			if errs := platform.CheckRanges(withValue(t, s, end, past)); len(errs) != 1 || !strings.Contains(errs[0].Error(), s.Variable) {
				t.Errorf("%s beyond %s: %v", s.Variable, end, errs)
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d ends of ranges were tried", tried)
	}
}

// withValue returns the default settings with one replaced: by text, and past it by a unit.
func withValue(t *testing.T, s platform.Setting, text string, past float64) *platform.Settings {
	t.Helper()
	read := settingsOf(t)
	field := reflect.ValueOf(&read).Elem().FieldByIndex(s.Field.Index)
	unit := 1.0
	if _, isDuration := field.Interface().(time.Duration); isDuration {
		unit = float64(time.Second)
	}
	value := platform.Limit(field, text)*unit + past*unit
	if field.CanInt() {
		field.SetInt(int64(value))
	} else {
		field.SetFloat(value)
	}
	return &read
}

// hasHeading reports whether a link such as operations.md#turns leads to a heading in docs.
func hasHeading(t *testing.T, link string) bool {
	t.Helper()
	file, anchor, _ := strings.Cut(link, "#")
	text, err := os.ReadFile(filepath.Join("../../docs", file))
	if err != nil {
		t.Fatal(err)
	}
	return anchor == "" || slices.Contains(anchorsOf(string(text)), anchor)
}

// anchorsOf are the anchors of the headings of a document, as GitHub makes them.
func anchorsOf(text string) []string {
	var anchors []string
	dropped := regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		words := dropped.ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors = append(anchors, strings.ReplaceAll(words, " ", "-"))
	}
	return anchors
}

// settingsDocument is docs/settings.md.
func settingsDocument(all []platform.Setting) string {
	var doc, contents strings.Builder
	for _, s := range all {
		if section := s.Field.Tag.Get("section"); section != "" {
			fmt.Fprintf(&contents, "- [%s](#%s)\n", section, anchorsOf("# " + section)[0])
			fmt.Fprintf(&doc, "\n## %s\n\n| variable and flag | default | range | what it is | used by |\n|---|---|---|---|---|\n", section)
		}
		doc.WriteString(settingsRow(s))
	}
	return settingsIntro + contents.String() + doc.String() + settingsEnd
}

var defaultInHelp = regexp.MustCompile(` \(default:? ([^)]*)\)`)

func settingsRow(s platform.Setting) string {
	help, fallback := strings.ReplaceAll(s.Help, "`", ""), ""
	if found := defaultInHelp.FindStringSubmatch(help); found != nil {
		help, fallback = strings.Replace(help, found[0], "", 1), found[1]
	} else if s.Fallback != "" {
		fallback = "`" + s.Fallback + "`"
	}
	if s.Variable == "VIGIL_DATA_DIR" {
		fallback = "`~/.local/share/vigil`, for root `/var/lib/vigil`"
	}
	if s.Secret {
		help += "; a secret, so set the variable: others on the machine can see flags"
	}
	if more := s.Field.Tag.Get("more"); more != "" {
		file, _, _ := strings.Cut(more, "#")
		help += " ([" + file + "](" + more + "))"
	}
	flag := s.Flag()
	if strings.HasPrefix(s.Variable, "VIGIL_AGENT_") {
		flag = agentcmd.FlagOf(s.Variable)
	}
	if s.Variable == "VIGIL_AGENT_DATA_DIR" {
		fallback = "`~/.local/share/vigil-agent`, for root `/var/lib/vigil-agent`"
	}
	cells := []string{
		"`" + s.Variable + "` `--" + flag + "`", fallback, rangeCell(s), help,
		strings.Join(strings.Fields(s.Field.Tag.Get("use")), ", "),
	}
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func rangeCell(s platform.Setting) string {
	low, high := s.Field.Tag.Get("min"), s.Field.Tag.Get("max")
	switch {
	case high != "":
		return low + " to " + high
	case low != "":
		return cmp.Or(s.Field.Tag.Get("form"), "at least "+low)
	default:
		return s.Field.Tag.Get("form")
	}
}
