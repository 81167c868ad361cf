// Package probe looks at targets: one file per check type, each of which reads
// a config, says how long a run may take, and returns what one run saw.
//
// A probe never decides health, never writes anything and never retries. A run
// ends by its deadline whatever the target does, reads a bounded amount, leaves
// no goroutine or socket behind, and tells every failure in a sentence that a
// person can act on and that holds no secret.
//
// A new type is one new file and its test: a type that implements Prober, and
// a call of register.
package probe
