// SPDX-License-Identifier: Apache-2.0

// Package manifest reads and writes the files of monitoring as code: YAML or JSON files
// that describe the checks, rules, channels, status pages and maintenance windows of one
// project.
//
// Read merges any number of files into one document, replaces variables, and keeps the
// position of every value, so that each problem names file, line and column, also a
// problem that the server finds. Export writes what the API returns in the same format.
//
// The package decides nothing about the meaning of a member. Names, types and secrets
// come from the schema and the list of secret members that its caller hands in; ranges
// and everything else are the server's.
package manifest
