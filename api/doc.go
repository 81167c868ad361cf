// SPDX-License-Identifier: Apache-2.0

// Package api is the HTTP interface of the platform, described by one OpenAPI document and served
// by Huma on net/http.
//
// Its resources are in parts by subject: accounts, checks, alerts, backtests and apply, each a
// service with the interface of the store that it needs, one file for each resource. Package
// resource has what they share. Package rest registers operations, decodes bodies and writes
// answers; package stream keeps the alert streams. This package puts them together: the order of
// what a request passes, the document, /ready, the stream, the codec endpoint, and the pages that
// are served beside.
//
// Where there is a standby of the database the operations are there twice (parts.go), and what changes nothing is answered from
// the standby (standby.go).
//
// New (server.go) takes its parts in Deps (deps.go), each a small interface; without workflows,
// incidents can be read and not changed (no_workflows.go). guard.go and sign_in.go lend the rules
// of the API, its callers and rates, to pages that are served beside it, and public.go serves what
// needs no credential. document*.go add to the OpenAPI document what no operation says, and
// file_schema.go makes the schema of the files of a project from it. A test compares openapi.yaml
// with what the code makes, and every test of the API compares its answers with that.
package api
