// SPDX-License-Identifier: Apache-2.0

// Package api is the HTTP interface of the platform, described by one OpenAPI
// document and served by Huma on net/http.
//
// Each file holds one resource, with the interface of the store methods that it
// uses. Package rest registers operations, decodes bodies and writes answers;
// package stream keeps the alert streams.
package api
