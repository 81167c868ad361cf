// SPDX-License-Identifier: Apache-2.0

// Package timing has what rooms need of time that depends on no room: a wait that ends with its
// context (Sleep), a call that is repeated until it works (Repeat), how long ago an instant was by a
// clock that may have been set (Age), by how much two clocks are apart (Ahead), the order of two
// times (Earlier, Later), and whether many things happen at once (Burst).
//
// No function but Sleep and Repeat reads a clock: the caller hands in the present, so that a test
// decides what time it is. The package imports the standard library only. Package timingtest has how
// tests wait.
package timing
