// SPDX-License-Identifier: Apache-2.0

// Package pgreload reads the address of a Postgres again, with the files that it names, see internal/reload. It is a room of its
// own, since agents reload files without a database.
package pgreload
