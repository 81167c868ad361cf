// SPDX-License-Identifier: Apache-2.0

// Package agentcmd has the commands of an agent: those of the program vigil-agent, which are `vigil
// agent` and what is below it in the whole program.
//
// settings.go reads the settings, from flags and VIGIL_AGENT_* variables. run.go runs an agent and
// its health port, and look.go says step by step why it cannot reach the platform.
package agentcmd
