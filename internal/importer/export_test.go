// SPDX-License-Identifier: Apache-2.0

package importer

// KumaMonitorColumns are the columns of monitors that the import reads.
func KumaMonitorColumns() []string { return kumaMonitorColumns() }
