// SPDX-License-Identifier: Apache-2.0

// Package contract tests that the running program implements the contract of its HTTP
// API: one test for each row of the contract's tables, named after the row. The tests sign
// up and send requests like any client, and use no code of the program. Every answer is held to
// the OpenAPI document that the program serves.
package contract
