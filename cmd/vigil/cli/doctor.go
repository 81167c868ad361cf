// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/doctor"

	"github.com/vigil-monitor/vigil/internal/instance"
)

// Machine is what doctor looks at on the machine of a server.
type Machine struct {
	Probes []doctor.Probe
	// Credentials are hidden in everything that is found.
	Credentials []string
	// Configured: settings of the server's commands are in the environment, so that a server
	// runs on this machine or is to.
	Configured bool
}

// dataDirVariable names the data directory of the server's commands.
const dataDirVariable = "VIGIL_DATA_DIR"

// probeBound is how long doctor waits for each part, unless --timeout says otherwise.
const probeBound = 8 * time.Second

func (a *app) doctorCommand() *cobra.Command {
	var machine bool
	var dataDir string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Find out what does not work, and what to do about it",
		Long: "Look at the server from here, and at this machine when the server runs on it: what works, what does not, and a\n" +
			"command to paste for each. It changes nothing, shows no credential, and works while the server is down. The exit\n" +
			"code is 3 when something was found.",
		Example: "  vigil doctor\n  vigil doctor --context prod\n  vigil doctor -o json > for-support.json",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&machine, "machine", false,
		"look at this machine as that of a server; --machine=false: do not (default: when its data directory is here, or no server is chosen)")
	cmd.Flags().StringVar(&dataDir, "data-dir", a.host.DataDir,
		"data `directory` of the instance on this machine (default: that of the context) [VIGIL_DATA_DIR]")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		con, err := a.console(cmd)
		if err != nil {
			return err
		}
		e := examination{app: a, con: con, dataDir: dataDir, bound: probeBound}
		e.dirGiven = cmd.Flag("data-dir").Changed || os.Getenv(dataDirVariable) != ""
		if cmd.Flag("timeout").Changed {
			e.bound = a.flags.timeout
		}
		if cmd.Flag("machine").Changed {
			e.machine = &machine
		}
		return e.run(cmd.Context())
	}
	return cmd
}

// examination is one run of doctor.
type examination struct {
	*app
	con     *console.Console
	bound   time.Duration
	machine *bool // nil: decided by what is found
	dataDir string
	// dirGiven: the data directory is not that of a context.
	dirGiven bool
}

// examined is the answer of doctor.
type examined struct {
	doctor.Report
	Version string    `json:"version"`
	URL     string    `json:"url,omitempty"`
	Context string    `json:"context,omitempty"`
	At      time.Time `json:"at"`
}

func (e *examination) run(ctx context.Context) error {
	config, to, err := e.config()
	if err != nil {
		return err
	}
	if to.DataDir != "" && !e.dirGiven {
		e.dataDir = to.DataDir
	}
	here := e.host.Machine(e.dataDir)
	probes := []doctor.Probe{{Part: "config", Look: func(context.Context) []doctor.Finding { return []doctor.Finding{config.Judge()} }}}
	if to.URL != "" {
		afar, err := e.afar(to)
		if err != nil {
			return err
		}
		probes = append(probes, afar.probes()...)
	}
	if e.looksHere(to, here) {
		probes = append(probes, here.Probes...)
	}
	progress := e.con.Progress("examining")
	report := doctor.Examine(ctx, probes, e.bound)
	progress.Done()
	if ctx.Err() != nil {
		return console.Errorf(console.Interrupted, "interrupted: %w", ctx.Err())
	}
	report.Hide(append(here.Credentials, to.Key))
	return e.print(examined{Report: report, Version: e.host.Version, URL: to.URL, Context: to.Context, At: e.con.Now().UTC()})
}

// config chooses the server as every command does, and says how. What is wrong with the
// choice is a finding, and no server is chosen then.
func (e *examination) config() (doctor.Config, target, error) {
	path := configPath()
	config := doctor.Config{Path: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		config.Missing = true
	case err == nil:
		config.Mode = info.Mode()
	}
	_, here := instance.Running(e.dataDir)
	config.Here = here == nil
	silent := *e.con
	silent.Err = discard{}
	to, err := e.target(&silent)
	switch code := console.CodeOf(err); {
	case err == nil:
		config.Context, config.From = to.Context, to.URLFrom
	case code == console.Login: // no server: the file says nothing of one
	case code == console.Usage && (e.flags.url != "" || e.flags.context != ""):
		return config, to, err // a mistake in the command line
	default:
		config.Problem = redacted(err.Error())
	}
	return config, to, nil
}

// discard takes what is not shown.
type discard struct{}

// Write accepts everything.
func (discard) Write(p []byte) (int, error) { return len(p), nil }

// looksHere decides whether this machine is looked at.
func (e *examination) looksHere(to target, here Machine) bool {
	if e.machine != nil {
		return *e.machine
	}
	if to.URL == "" || here.Configured {
		return true
	}
	parsed, err := url.Parse(to.URL)
	if err != nil || !loopback(parsed.Hostname()) {
		return false
	}
	_, err = os.Stat(e.dataDir) // else the server may run in a container of this machine
	return err == nil
}

// print shows a report. The exit code says whether anything was found.
func (e *examination) print(all examined) error {
	body, err := json.Marshal(map[string]any{"data": all})
	if err != nil {
		return err
	}
	var remarks console.Remarks
	names := []string{}
	tones := map[doctor.State]console.Tone{doctor.OK: console.Good, doctor.Warn: console.Doubtful, doctor.Fail: console.Bad}
	for _, f := range all.Findings {
		remarks = append(remarks, console.Remark{
			State: console.Word(string(f.State)).Toned(tones[f.State]), Name: f.Part, Text: f.Message, Hints: f.Remedies,
		})
		if f.State != doctor.OK {
			names = append(names, f.Part)
		}
	}
	if err := e.con.Print(console.Answer{Body: body, Names: names, Parts: []console.Part{remarks}}); err != nil {
		return err
	}
	e.con.Note("%s", all.Summary())
	if all.Problems+all.Warnings > 0 {
		return console.Silent(console.No)
	}
	return nil
}
