// SPDX-License-Identifier: Apache-2.0

// Package api is the HTTP interface of the platform, described by one OpenAPI
// document and served by Huma on net/http.
//
// Its resources are in parts by subject: accounts, checks, alerts, backtests and apply, each a
// service with the interface of the store that it needs, one file for each resource. Package
// resource has what they share. Package rest registers operations, decodes bodies and writes
// answers; package stream keeps the alert streams. This package puts them together: the order
// of what a request passes, the document, /ready, the stream, the codec endpoint, and the
// pages that are served beside.
package api
