// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/internal/standalone"
)

// version and commit are set by the build.
var (
	version = platform.UnknownVersion
	commit  = "" //nolint:gochecknoglobals // the linker sets it
)

// thisProgram is what a process knows of this build and of its environment.
func thisProgram() platform.Program { return platform.Program{Version: version, Env: os.LookupEnv} }

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Long:    "Print the version of this program, the commit that it was built from, and the platform that it was built for.",
		Args:    cobra.NoArgs,
		GroupID: cli.GroupID,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), describeVersion())
			return err
		},
	}
}

// describeVersion is the line of `vigil version`.
func describeVersion() string {
	parts := []string{"vigil " + version}
	if commit != "" {
		parts = append(parts, "commit "+commit[:min(12, len(commit))])
	}
	parts = append(parts, runtime.GOOS+"/"+runtime.GOARCH, runtime.Version())
	if !standalone.Embedded {
		parts = append(parts, "slim: without the embedded Temporal server")
	}
	return strings.Join(parts, ", ")
}
