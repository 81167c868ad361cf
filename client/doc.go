// SPDX-License-Identifier: Apache-2.0

// Package client calls the API from Go. All of it is generated from
// api/openapi.yaml, which makes it a proof that the document is one that
// programs can use.
//
// To renew it: go test ./api -run TestOpenAPI -update.
package client
