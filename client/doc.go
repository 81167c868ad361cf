// SPDX-License-Identifier: Apache-2.0

// Package client calls the API from Go. Its types and a method for each operation are generated from
// api/openapi.yaml, which makes it a proof that the document is one that programs can use.
//
//	vigil, err := client.NewClientWithResponses("https://vigil.example.com", client.WithAPIKey(key))
//
// It is a package of the module of the platform, of which a program that imports it compiles this one and the
// runtime of oapi-codegen. It sends each request once: RetryAfter reads how long an answer asks to wait, and the
// parameters of what creates something have an IdempotencyKey.
//
// To renew it: go test ./api -run TestOpenAPI -update.
package client
