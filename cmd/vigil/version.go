// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/internal/standalone"
)

// version, commit and builder are set by the build.
var (
	version = platform.UnknownVersion
	commit  = "" //nolint:gochecknoglobals // the linker sets it
	builder = "" //nolint:gochecknoglobals // the same: who made the release, as in its provenance
)

// thisProgram is what a process knows of this build and of its environment.
func thisProgram() platform.Program {
	return platform.Program{Version: version, Build: buildName(version, commit, debug.ReadBuildInfo), Env: os.LookupEnv}
}

// buildName is the version and the commit that a program was built from, by the build or by Go's record of it; "" where
// neither says it, or where what was built is not what was committed.
func buildName(version, commit string, recorded func() (*debug.BuildInfo, bool)) string {
	info, ok := recorded()
	if !ok {
		info = &debug.BuildInfo{}
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.modified" && setting.Value == "true" {
			return ""
		}
		if setting.Key == "vcs.revision" && commit == "" {
			commit = setting.Value
		}
	}
	if commit == "" {
		return ""
	}
	return version + " " + commit[:min(12, len(commit))]
}

// build describes this program, for `vigil version --json`.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`  // "" where the build did not say
	Builder string `json:"builder"` // "" for a build that is no release
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Kind    string `json:"kind"` // full, or slim: without the embedded Temporal server
}

func thisBuild() build {
	b := build{Version: version, Commit: commit, Builder: builder, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Kind: "full"}
	if !standalone.Embedded {
		b.Kind = "slim"
	}
	return b
}

func newVersionCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: "Print the version of this program, the commit that it was built from, the platform that it was built for, and what\n" +
			"built it: a release names its builder, as its provenance statement does.",
		Args:    cobra.NoArgs,
		GroupID: cli.GroupID,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(thisBuild())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), describeVersion())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// describeVersion is the line of `vigil version`.
func describeVersion() string {
	parts := []string{"vigil " + version}
	if commit != "" {
		parts = append(parts, "commit "+commit[:min(12, len(commit))])
	}
	madeBy := "not a release"
	if builder != "" {
		madeBy = "built by " + builder
	}
	parts = append(parts, runtime.GOOS+"/"+runtime.GOARCH, runtime.Version(), madeBy)
	if !standalone.Embedded {
		parts = append(parts, "slim: without the embedded Temporal server")
	}
	return strings.Join(parts, ", ")
}
