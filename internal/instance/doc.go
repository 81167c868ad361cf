// SPDX-License-Identifier: Apache-2.0

// Package instance is what a running platform leaves in its data directory for the command line:
// where it listens and which process it is, and what became of the definitions that it applies by
// itself. These files have no secret, and every user may read them. A description whose process has
// ended is out of date.
//
// SaveInstance writes the description once everything listens, and RemoveInstance deletes it when
// the process ends, unless another one has replaced it. Read returns it for the commands that have
// no other address, so that `vigil checks list` finds the platform of this machine. SaveApplied
// notes what an apply of the server's own files came to (applied.go), which `vigil doctor` and the
// start line show. Files are replaced in one step: a reader finds the old one or the new one.
package instance
