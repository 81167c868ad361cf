// SPDX-License-Identifier: Apache-2.0

// Package releases reads and judges latest.json, the file of a release that says what it is. It
// opens no file and no connection: the caller reads the bytes, from where the operator said.
//
// latest.json may come from anywhere, so Parse is strict and bounded, and its error names the
// member that is wrong; the notes of a release are made safe for a terminal. Versions are compared
// by Semantic Versioning 2.0.0, and MinimumUpgradeFrom says from which one an upgrade in one step
// is possible. Package attest writes the file when a release is made.
package releases
