// SPDX-License-Identifier: Apache-2.0

// Package importer reads the configuration of another monitoring program and writes it as files of
// a project, in the format of package manifest. It talks to no server and reads no environment
// variable: a variable of the source stays a variable in the files.
//
// What a file cannot say is a loss. Each loss is reported three times: as a comment at the
// resource, in the summary of the command, and in IMPORT.md.
//
// A Source (source.go) is a program: gatus*.go, kuma*.go, upptime*.go, healthchecks*.go and csv*.go read one each and
// add Resources to a Result (result.go). They use what is common to all: names and keys (name.go),
// variables and secrets, which go to a file .env (secret.go), links between resources (link.go).
// Finish then does the same for every source: texts are escaped (escape.go), secrets hidden, each
// resource judged by the code of the server (judge.go), and what the server would refuse is taken
// out and reported. render.go and write.go write the files, and replace none without being asked.
package importer
