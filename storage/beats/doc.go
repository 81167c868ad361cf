// SPDX-License-Identifier: Apache-2.0

// Package beats stores what jobs report to heartbeats: the addresses that they ping, the pings, and
// the times in which no process answered them.
package beats
