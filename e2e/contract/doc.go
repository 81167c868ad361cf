// SPDX-License-Identifier: Apache-2.0

// Package contract tests that the running program implements the contract of its HTTP API: one test
// for each row of the contract's tables, named after the row. The tests sign up and send requests
// like any client, and use no code of the program. Every answer is held to the OpenAPI document
// that the program serves.
//
// The files are by the parts of the contract: account*_test.go, checks_test.go, alerts_test.go,
// stream_test.go, system_test.go, and limits_test.go and shapes_test.go for what holds for all. All
// tests share one platform (platform_test.go), with an organization each. target_test.go has the
// targets and receivers that they control, tools_test.go the client.
package contract
