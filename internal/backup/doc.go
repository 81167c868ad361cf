// SPDX-License-Identifier: Apache-2.0

// Package backup writes and reads the backup file of a platform: a tar archive with a
// dump of each database, the secret key, a manifest and the checksums of all of them.
//
// It knows files and the programs of Postgres, and neither schema nor settings.
package backup
