// SPDX-License-Identifier: Apache-2.0

// Package rest is what every resource of the HTTP interface needs: it registers
// operations with Huma, checks the form of requests, limits rates, notes changes
// in the audit log, and writes the three bodies that every answer has: {data},
// {data, meta} and {error, code}. It knows no resource and no store.
package rest
