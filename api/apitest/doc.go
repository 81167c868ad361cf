// SPDX-License-Identifier: Apache-2.0

// Package apitest holds the API to its OpenAPI document, in tests of the API and of the running
// program, and gives an API that a test starts its stores.
package apitest
