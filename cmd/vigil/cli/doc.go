// SPDX-License-Identifier: Apache-2.0

// Package cli has the client commands of vigil: they call the API of a server, on this
// machine or elsewhere, and show its answers. The API decides and validates; nothing here
// does. Each noun has a file.
package cli
