// SPDX-License-Identifier: Apache-2.0

// Package importer reads the configuration of another monitoring program and writes it as
// files of a project, in the format of package manifest. It talks to no server and reads no
// environment variable: a variable of the source stays a variable in the files.
//
// What a file cannot say is a loss. Each loss is reported three times: as a comment at the
// resource, in the summary of the command, and in IMPORT.md.
package importer
