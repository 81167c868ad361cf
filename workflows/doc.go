// Package workflows says what happens in which order, and nothing else: every
// function here is deterministic, so that the server can replay it from its
// history after any crash. What the steps do is in package activities.
package workflows
