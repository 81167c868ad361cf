// SPDX-License-Identifier: Apache-2.0

// Package instance is what a running platform leaves in its data directory for the command
// line: where it listens and which process it is, and what became of the definitions that it
// applies by itself. These files have no secret, and every user may read them. A description
// whose process has ended is out of date.
package instance
