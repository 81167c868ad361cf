// SPDX-License-Identifier: Apache-2.0

// Package backup writes and reads the backup file of a platform: a tar archive with a dump of each
// database, the secret key, a manifest and the checksums of all of them.
//
// Create asks pg_dump for each database (programs.go), puts the dumps and the key into an archive
// beside the file and renames it when it is complete: a file of that name is whole. The manifest
// (manifest.go) comes first and says which version wrote it and which databases it has; the
// checksums come last. Extract reads an archive to its end before anything of it is used (read.go),
// so that a damaged one changes nothing; Load gives a dump to pg_restore in one transaction.
//
// It knows files and the programs of Postgres, and neither schema nor settings: the commands backup
// and restore of cmd/vigil say what is dumped, and in which order a restored platform may start.
package backup
