// Package activities is where workflows touch the world: a turn of a check's
// loop waits for its slot and probes here, incidents are stored and told here, and
// channels are tried here.
//
// An activity takes and returns ids, slots and small state, never a secret or a
// body, because both ends of it are kept in a workflow's history.
package activities
