// SPDX-License-Identifier: Apache-2.0

// Package pgbin finds the Postgres programs that are installed on this machine or came with Vigil.
//
// A platform with a private database, its backups and the tests of storage need the programs of one
// installation. Find takes the first one of Dirs that is not too old: that of PATH, then the
// packages of the system, newest first, and at last those that came with Vigil (bundled.go), which
// lie beside the program. A cluster opens with its own major version only, so the caller may ask
// for that one. Tool finds a client program, which may be newer than the server. The package
// imports nothing of ours.
package pgbin
