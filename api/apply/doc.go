// SPDX-License-Identifier: Apache-2.0

// Package apply is the part of the API that makes what is stored of a project equal to its
// files. A plan is an apply that is rolled back, so that what a plan shows is what happens.
//
//   - apply.go has the two operations. It reads the document, and runs the rest in one
//     transaction of the engine of storage.
//   - apply_want.go reads what the document wants: each definition as the body of its own
//     endpoint, by the rules of checks and alerts, so that a file and a request are refused with
//     the same words. One file for each kind that has rules of its own reads it: rules,
//     fallbacks, subscriptions, windows and pages (apply_want_*.go). A reference is a slug, of
//     the document or of what is stored.
//   - apply_stored.go pairs what is wanted with what is stored: by the slugs of the project, and by
//     what the document adopts, a definition that nothing manages yet.
//   - apply_decide.go compares the pairs and makes the changeset: what is created, changed,
//     deleted or left as it is, and which members differ.
//   - apply_warning.go says what is allowed and looks like a mistake.
//
// Errors name the path of the definition in the document and come all at once. Limits of the
// plan are judged by the engine, over the sum of all changes. After the transaction the notifier
// wakes the workflows of what changed, as for any other request.
package apply
