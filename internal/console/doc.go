// SPDX-License-Identifier: Apache-2.0

// Package console is what a command line program needs towards its user: answers as tables, JSON or
// YAML, colours, questions, progress, exit codes, and the file of contexts. It knows nothing of the
// platform.
//
// Standard output has the answer and nothing else. Everything besides, such as warnings, questions
// and progress, goes to standard error.
//
// A command makes an Answer: the body as the server sent it, and how it is drawn for people, as a
// table, a list of entries, lines or remarks (answer.go, table.go, entries.go, lines.go,
// remarks.go). JSON and YAML show the body, or what a Query selects of it; a drawing is made of
// Cells, which know a short form for a terminal and the whole value for a script. Without a
// terminal there is no colour, no progress and no question: Confirm then demands the flag that
// answers it. An ExitError carries one of the Codes, and Sentence makes a sentence of any error.
//
// Texts that come from elsewhere are cleaned (Clean), since they could act on a terminal.
package console
