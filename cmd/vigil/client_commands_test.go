// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// clientLine is how one client command is run for what all of them have in common.
type clientLine struct {
	words string
	// reads: it prints an answer without a change. On a terminal that contains a text, the
	// header of a table, the name of a field, or the note that there is none.
	reads string
	// missing are the words with which it names something that does not exist.
	missing string
	// open: the API answers it without a key.
	open bool
}

const (
	noID   = "00000000-0000-4000-8000-000000000000"
	noPage = "no-such-page"
)

// clientLines are the commands of each noun.
func clientLines() map[string][]clientLine {
	return map[string][]clientLine{
		"status": {{words: "status", reads: "budget"}},
		"auth":   {{words: "auth status", reads: "WHAT"}},
		"check": {
			{words: "check list", reads: "HEALTH"},
			{words: "check get Shop", reads: "config.url", missing: "check get nothing"},
			{words: "check results Shop", reads: "STATUS", missing: "check results " + noID},
			{words: "check uptime Shop", reads: "P95", missing: "check uptime " + noID},
			{words: "check regions Shop", reads: "WORKFLOW", missing: "check regions " + noID},
			{words: "check recipients Shop", reads: "CHANNEL", missing: "check recipients " + noID},
			{words: "check create http://127.0.0.1/"},
			{words: "check edit Shop", missing: "check edit " + noID},
			{words: "check pause Shop", missing: "check pause nothing"},
			{words: "check resume Shop", missing: "check resume " + noID},
			{words: "check delete Shop --yes", missing: "check delete nothing --yes"},
			{words: "check test Shop --dry-run", reads: "TOOK", missing: "check test " + noID},
		},
		"rule": {
			{words: "rule list", reads: "CONDITION"},
			{words: "rule get Down", reads: "NAME", missing: "rule get " + noID},
			{
				words:   "rule create --check Shop --condition failure_threshold=2 --channel oncall",
				missing: "rule create --check nothing --condition failure_threshold=2 --channel oncall",
			},
			{words: "rule edit Down", missing: "rule edit " + noID},
			{words: "rule backtest Down", missing: "rule backtest nothing"},
			{words: "rule delete Down --yes", missing: "rule delete nothing --yes"},
		},
		"channel": {
			{words: "channel list", reads: "NAME"},
			{words: "channel get oncall", reads: "config.url", missing: "channel get " + noID},
			{words: "channel create webhook http://127.0.0.1/"},
			{words: "channel edit oncall", missing: "channel edit nothing"},
			{words: "channel test oncall", reads: "STATUS", missing: "channel test " + noID},
			{words: "channel rotate-secret oncall --force", missing: "channel rotate-secret " + noID},
			{words: "channel recover oncall --since 1h", missing: "channel recover " + noID + " --since 1h"},
			{words: "channel enable oncall", missing: "channel enable " + noID},
			{words: "channel disable oncall", missing: "channel disable " + noID},
			{words: "channel delete oncall --yes", missing: "channel delete nothing --yes"},
		},
		"incident": {
			{words: "incident list", reads: "No incidents"},
			{words: "incident get " + noID, missing: "incident get " + noID},
			{words: "incident ack " + noID, missing: "incident ack " + noID},
			{words: "incident resolve " + noID, missing: "incident resolve " + noID},
		},
		"delivery": {
			{words: "delivery list", reads: "No deliveries"},
			{words: "delivery get " + noID, missing: "delivery get " + noID},
			{words: "delivery redeliver " + noID, missing: "delivery redeliver " + noID},
		},
		"drill": {
			{words: "drill run --channel oncall", missing: "drill run --channel nothing"},
			{words: "drill list", reads: "No drills"},
			{words: "drill get " + noID, missing: "drill get " + noID},
			{words: "drill cancel " + noID, missing: "drill cancel " + noID},
			{words: "drill schedule list", reads: "REPEATS"},
			{words: "drill schedule get Monthly", reads: "notifies pagers", missing: "drill schedule get " + noID},
			{words: "drill schedule create other --channel oncall", missing: "drill schedule create other --channel nothing"},
			{words: "drill schedule edit Monthly", missing: "drill schedule edit " + noID},
			{words: "drill schedule enable Monthly", missing: "drill schedule enable " + noID},
			{words: "drill schedule disable Monthly", missing: "drill schedule disable " + noID},
			{words: "drill schedule delete Monthly --yes", missing: "drill schedule delete nothing --yes"},
		},
		"report": {
			{words: "report uptime", reads: "BUDGET LEFT"},
			{words: "report incidents"}, // a file of CSV, not what --output says
			{words: "report schedule list", reads: "No schedules of reports"},
			{words: "report schedule get " + noID, missing: "report schedule get " + noID},
			{words: "report schedule create other --channel oncall", missing: "report schedule create other --channel nothing"},
			{words: "report schedule enable " + noID, missing: "report schedule enable " + noID},
			{words: "report schedule disable " + noID, missing: "report schedule disable " + noID},
			{words: "report schedule edit " + noID, missing: "report schedule edit " + noID},
			{words: "report schedule delete " + noID + " --yes", missing: "report schedule delete nothing --yes"},
		},
		"tail": {{words: "tail"}},
		"status-page": {
			{words: "status-page list", reads: "SLUG"},
			{words: "status-page get $SLUG", reads: "Shop status", missing: "status-page get " + noPage},
			{words: "status-page create another-$SLUG", missing: "status-page create another-$SLUG --check nothing"},
			{words: "status-page edit $SLUG", missing: "status-page edit " + noPage},
			{words: "status-page password $SLUG --remove", missing: "status-page password " + noPage + " --remove"},
			{words: "status-page logo $SLUG --remove", missing: "status-page logo " + noPage + " --remove"},
			{words: "status-page verify-host $SLUG", missing: "status-page verify-host " + noPage},
			{words: "status-page subscribers $SLUG", reads: "No subscribers", missing: "status-page subscribers " + noPage},
			{words: "status-page unsubscribe $SLUG " + noID + " --yes", missing: "status-page unsubscribe " + noPage + " " + noID + " --yes"},
			{words: "status-page delete $SLUG --yes", missing: "status-page delete " + noPage + " --yes"},
		},
		"member": {
			{words: "member list", reads: "EMAIL"},
			{words: "member invitations", reads: "No "},
			{words: "member invite grace@example.com"},
			{words: "member role $EMAIL viewer", missing: "member role grace@example.com viewer"},
			{words: "member remove $EMAIL --yes", missing: "member remove grace@example.com --yes"},
		},
		"org": {
			{words: "org get", reads: "SLUG"},
			{words: "org rename Engines"},
		},
		"api-key": {
			{words: "api-key list", reads: "BEGINS WITH"},
			{words: "api-key create other"},
			{words: "api-key revoke reader --yes", missing: "api-key revoke nothing --yes"},
		},
		"usage":  {{words: "usage", reads: "executions an hour"}},
		"region": {{words: "region list", reads: "CANNOT RUN", open: true}},
		"location": {
			{words: "location list", reads: "STATE"},
			{words: "location get loc-lab", reads: "AGENT", missing: "location get " + noID},
			{words: "location update loc-lab --name Laboratory", missing: "location update loc-nothing --name Laboratory"},
			{words: "location rotate-token loc-lab", missing: "location rotate-token " + noID},
			{words: "location delete loc-lab --yes", missing: "location delete nothing --yes"},
			{words: "location create Office"},
		},
		"ping-key": {
			{words: "ping-key create"},
			{words: "ping-key show", reads: "ping_url"},
			{words: "ping-key rotate --yes"},
			{words: "ping-key revoke --yes"},
		},
		"audit":   {{words: "audit", reads: "ACTION"}},
		"request": {{words: "request GET /v1/checks", reads: `"data"`, missing: "request GET /v1/nothing"}},
	}
}

// ready makes what the lines name.
const ready = `
cli 0 channel create webhook $TARGET/status/200 --name oncall
cli 0 check create $TARGET/status/200 --name Shop --rule failure_threshold=3 --channel oncall
cli 0 rule create --check Shop --condition failure_threshold=2 --channel oncall --name Down
cli 0 status-page create $SLUG --title 'Shop status' --check Shop
cli 0 api-key create reader --scopes read
cli 0 location create Lab --token-file lab.token
cli 0 ping-key create
cli 0 drill schedule create Monthly --channel oncall --timezone Europe/Berlin
eventually '\tok\t' check results Shop
eventually 'check.create' audit
`

// commandScripts writes a script for each noun, which runs each of its commands: as a table on
// a terminal, as rows in a pipe, as JSON and YAML, with a wrong flag, without a key that is
// accepted, with a name that does not exist, and without a server. The command cli fails
// when a key is shown.
func commandScripts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for noun, lines := range clientLines() {
		requireAll(t, noun, lines)
		var script strings.Builder
		script.WriteString(ready)
		for _, line := range lines {
			line.write(&script)
		}
		script.WriteString("\nenv VIGIL_URL=$API\nenv VIGIL_API_KEY=vgl_0000000000000000000000000000000000000x\nenv EDITOR=true\n")
		for _, line := range lines {
			if line.open {
				continue
			}
			fmt.Fprintf(&script, "cli 4 %s\n! stdout '\\t'\nstderr 'unauthorized, request'\n", line.words)
		}
		script.WriteString("\nenv VIGIL_URL=http://127.0.0.1:1\nenv VIGIL_API_KEY=$KEY\n")
		for _, line := range lines {
			fmt.Fprintf(&script, "cli 7 %s --timeout 100ms\n! stdout .\nstderr '^vigil: http://127.0.0.1:1 does not answer: '\n", line.words)
		}
		script.WriteString("\n-- nothing --\n\n")
		if err := os.WriteFile(filepath.Join(dir, noun+".txtar"), []byte(script.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS == "linux" { // where testscript has terminals
		if err := os.WriteFile(filepath.Join(dir, "narrow.txtar"), []byte(narrowScript()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Names and an address that no terminal of sixty columns has room for.
const (
	longName    = "of a company whose services have names that are much longer than sixty columns"
	longAddress = "/status/503?path=" + "a/very/long/path/of/a/service/that/has/many/parts/in/its/address/"
)

// narrowReady makes what the lines of narrowScript name, with an incident and its deliveries.
const narrowReady = `
cli 0 channel create webhook $TARGET/status/500?$LONG --name 'oncall $NAMES'
cli 0 check create $TARGET$LONG --name 'Shop $NAMES' --interval 1s --rule failure_threshold=1 --channel 'oncall $NAMES' --label team=$LABEL
cli 0 rule create --check 'Shop $NAMES' --condition failure_threshold=2 --channel 'oncall $NAMES' --name 'Down $NAMES'
cli 0 status-page create $SLUG --title 'Shop status $NAMES' --check 'Shop $NAMES'
cli 0 api-key create 'reader $NAMES' --scopes read
cli 0 location create 'Lab $NAMES' --key loc-lab --token-file lab.token
cli 0 ping-key create
cli 0 member invite a.person.with.a.very.long.address.of.the.night.shift@a-company-with-a-long-name.example.com
cli 0 maintenance create 'Upgrade $NAMES' --check 'Shop $NAMES' --starts 2099-12-01T02:30 --duration 1h
cli 0 subscription create 'All $NAMES' --channel 'oncall $NAMES' --check 'Shop $NAMES' --label team=$LABEL
cli 0 drill schedule create 'Monthly $NAMES' --channel 'oncall $NAMES'
cli 0 drill run --channel 'oncall $NAMES' --detach
eventually '\texhausted\t' delivery list
`

// narrowScript runs everything that reads on a terminal of sixty columns, with long names. A line that
// is longer, which the terminal itself would break anywhere, fails it.
func narrowScript() string {
	names := strings.NewReplacer(
		"Shop",
		"''Shop $NAMES''",
		"oncall",
		"''oncall $NAMES''",
		"Down",
		"''Down $NAMES''",
		"Monthly",
		"''Monthly $NAMES''",
	)
	words := []string{
		"maintenance list",
		"maintenance get ''Upgrade $NAMES''",
		"subscription get ''All $NAMES''",
		"subscription list",
		"incident get $(cut -c1-36 incident)",
		"delivery get $(cut -c1-36 delivery)",
		"drill get $(cut -c1-36 drill)",
		"context list",
	}
	for _, lines := range clientLines() {
		for _, line := range lines {
			if line.reads != "" && !strings.HasPrefix(line.words, "request ") { // which prints JSON
				words = append(words, names.Replace(line.words))
			}
		}
	}
	slices.Sort(words)
	var script strings.Builder
	script.WriteString(
		strings.NewReplacer("$NAMES", longName, "$LONG", longAddress, "$LABEL", strings.Repeat("long", 40)).Replace(narrowReady),
	)
	script.WriteString("cli 0 incident list -o name\ncp stdout incident\ncli 0 delivery list -o name\ncp stdout delivery\n")
	script.WriteString("cli 0 drill list -o name\ncp stdout drill\n")
	for _, one := range words {
		one = strings.ReplaceAll(one, "$NAMES", longName)
		fmt.Fprintf(
			&script,
			"\nttyin -stdin nothing\nexec sh -c 'stty cols 60 </dev/tty; vigil %s --no-color >/dev/tty 2>&1 || test $? = 3'\n",
			one,
		)
		script.WriteString("ttyout '[^\\n\\r]{20}'\n! ttyout '[^\\n\\r]{61}'\n")
	}
	script.WriteString("\n-- nothing --\n\n")
	return script.String()
}

// write writes what a command does while the server answers.
func (l clientLine) write(script *strings.Builder) {
	fmt.Fprintf(
		script,
		"\n# vigil %s\ncli 2 %s --no-such-flag\n! stdout .\nstderr '^vigil: unknown flag: --no-such-flag$'\n",
		l.words,
		l.words,
	)
	if l.missing != "" {
		fmt.Fprintf(script, "env EDITOR=true\ncli 5 %s\n! stdout '\\t'\nenv EDITOR=\n", l.missing)
	}
	if l.reads == "" {
		return
	}
	fmt.Fprintf(script, "cli 0 %s\n! stdout '^[A-Z ]+(\t[A-Z ]+)+$'\n", l.words)
	fmt.Fprintf(script, "cli 0 %s -o json\nstdout '^\\{\\s*\"data\": ?[\\[{]'\n", l.words)
	fmt.Fprintf(script, "cli 0 %s -o yaml\nstdout '^data:'\n", l.words)
	fmt.Fprintf(script, "cli 0 %s --jq '.data | type'\nstdout '^(array|object)$'\n", l.words)
	fmt.Fprintf(script, "cli 2 %s -o xml\n", l.words)
	if runtime.GOOS == "linux" { // where testscript has terminals
		quoted := strings.ReplaceAll(l.words, "'", "''")
		fmt.Fprintf(script, "ttyin -stdin nothing\nexec sh -c 'vigil %s --no-color >/dev/tty 2>&1'\nttyout '%s'\n", quoted, l.reads)
	}
}

// requireAll fails for a command of a noun that has no line.
func requireAll(t *testing.T, noun string, lines []clientLine) {
	t.Helper()
	cmd, _, err := newRootCommand().Find([]string{noun})
	if err != nil {
		t.Fatal(err)
	}
	for _, below := range cmd.Commands() {
		found := below.PersistentFlags().HasFlags() // the settings: it works on the database
		for _, line := range lines {
			found = found || strings.HasPrefix(line.words+" ", noun+" "+below.Name()+" ")
		}
		if !found && below.Name() != "help" {
			t.Errorf("`vigil %s %s` has no line in clientLines", noun, below.Name())
		}
	}
}
