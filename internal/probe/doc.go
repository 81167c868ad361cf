// SPDX-License-Identifier: Apache-2.0

// Package probe checks targets: one file per check type, each of which reads a config, bounds how
// long a run may take, and returns what one run observed.
//
// A probe never decides health, never writes anything and never retries. A run ends by its
// deadline, reads a bounded amount, leaves no goroutine or socket behind, and explains every
// failure in a sentence that a person can act on and that holds no secret.
//
// A new type is one new file and its test: a type that implements Prober, and a call of register.
//
// probe.go has the registry, config.go reads configs by their tags, and run.go runs one: it sets
// the deadline, hides the secrets of the config in what comes back (package redact) and bounds it.
// What several types share is in files by its subject: target.go and tls.go for connections,
// body*.go and charset.go for answers, assertion*.go and jsonpath.go for what is expected of them,
// smtp*.go and imap.go for mail, dns_*.go for records. evidence*.go keeps what a failed run saw.
package probe
