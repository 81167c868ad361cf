// SPDX-License-Identifier: Apache-2.0

// Package secret keeps the secrets of configs and addresses: which members are secret, how they are
// sealed at rest, masked in answers, compared and kept.
//
// Fields describes the secret members of one config, by the tags of its struct; Configs has those
// of all types of checks and channels. A Keyring seals them (AES-256-GCM) when a row is written and
// opens them when it is read. Answers show Mask in their place, and Fields.Keep puts the stored
// secret back when a masked one is written again, if it still goes to the same place. The query
// parameters of addresses that look like credentials are secrets too (MaskParameters), and so are
// the headers whose names do (IsCredentialName).
package secret
