// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log/slog"
)

// newLogger logs to stderr, so that stdout has only the output of the command.
func newLogger(stderr io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
}
