// SPDX-License-Identifier: Apache-2.0

// Package probetest has what tests of several rooms share: real servers for
// probes to check, and the addresses that no probe may reach.
package probetest
