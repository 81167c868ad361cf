// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"io"
	"log/slog"
)

// NewLogger logs to stderr, so that stdout has only the output of the command.
func NewLogger(stderr io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
}
