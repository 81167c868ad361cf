// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/cmd/vigil-agent/agentcmd"
)

// newAgentCommand is the program vigil-agent as a command. It has settings of its own.
func newAgentCommand() *cobra.Command {
	cmd := agentcmd.New("agent", version)
	cmd.GroupID = serverGroup
	return cmd
}
