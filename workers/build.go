// SPDX-License-Identifier: Apache-2.0

package workers

import "go.temporal.io/sdk/worker"

// NameBuild names this program in the histories of workflows, where Temporal's interface shows which build made a step. It
// is called before the first worker of the process starts; with "" the SDK makes a checksum of the whole program then,
// which takes a processor some tenths of a second. Two builds that differ need two names.
func NameBuild(name string) {
	if name != "" {
		worker.SetBinaryChecksum(name)
	}
}
