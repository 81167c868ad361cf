// SPDX-License-Identifier: Apache-2.0

// Package reload reads files again that others replace while a process runs: certificates, keys, authorities and
// tokens.
package reload
