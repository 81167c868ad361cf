// SPDX-License-Identifier: Apache-2.0

// Package definitions reads checks, rules and channels as they are stored, with the secrets of
// their configs sealed. It owns the rows of checks, alert_rules, channels and check_trials; the
// room changes writes them.
//
// A row becomes a check by Opened, which decrypts its config, and a check becomes a row by
// SealedRow; nothing else sees a key. The catalogue (catalogue.go) is what workers read: every
// definition of their regions once, and then what has changed since a cursor, which is a snapshot
// of Postgres, so that no transaction that commits late is passed over. A check whose key is
// missing is left out there, so that the others still run.
//
// trial.go keeps a check that is not saved for as long as it is tried, so that its config does not
// pass through Temporal; former_secret.go keeps the signing secret that a channel had before.
package definitions
