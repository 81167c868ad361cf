// Package metrics shows operators what a process does: its figures in the text
// format of Prometheus, and its profiles. A process that nobody asked for figures
// has none, and pays for none: the nil *Metrics measures nothing.
package metrics
