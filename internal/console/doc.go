// SPDX-License-Identifier: Apache-2.0

// Package console is what a command line program needs towards its user: answers as
// tables, JSON or YAML, colours, questions, progress, exit codes, and the file of
// contexts. It knows nothing of the platform.
//
// Standard output has the answer and nothing else. Everything besides, such as warnings,
// questions and progress, goes to standard error.
package console
