// Package probetest has what tests of several rooms share: real servers for
// probes to look at, and the addresses that nobody may reach.
package probetest
