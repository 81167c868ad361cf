// SPDX-License-Identifier: Apache-2.0

// Package cli has the client commands of vigil: they call the API of a server, on this machine or
// elsewhere, and show its answers. The API decides and validates; nothing here does. Each noun has
// a file, and a noun with many verbs several (check.go, check_read.go, check_write.go).
//
// Commands returns them for the root command, which hands in what it knows of its process (Host). A
// command takes the server and the key from flags, the environment or the file of contexts
// (context.go, local_context.go), sends its requests through the client that is generated from the
// OpenAPI document, and returns a console.Answer, which is printed as a table, JSON or YAML.
// transport.go repeats what may be repeated while a server is away, with the same Idempotency-Key;
// refs.go finds an object by its name, its id or a part of it; tail.go, watch.go and sse.go follow
// the stream.
//
// apply, plan and diff read files with package manifest and let the server compare (plan*.go).
// ExitCode turns every error into one of the exit codes that docs/cli.md promises, and UsageErrors
// makes a mistake in flags one of them.
package cli
