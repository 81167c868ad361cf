// SPDX-License-Identifier: Apache-2.0

// Package apply is the part of the API that makes what is stored of a project equal to its
// files. It reads a document (apply_want.go), pairs what is wanted with what is stored by
// slugs and by adoption (apply_stored.go), and decides the changes (apply_decide.go) inside
// the transaction that carries them out, so that a plan is what happens. Each definition is
// read as a body of its own endpoint: checks and alerts keep its rules. Errors name the path
// of the definition and come all at once.
package apply
