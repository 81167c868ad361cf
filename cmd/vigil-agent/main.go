// SPDX-License-Identifier: Apache-2.0

// Command vigil-agent is an agent and nothing else: a small program for the machines of a location.
// Its commands are in package agentcmd, and `vigil agent` has them too.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/vigil-monitor/vigil/cmd/vigil-agent/agentcmd"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := agentcmd.Main(ctx, os.Args[1:], version, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
