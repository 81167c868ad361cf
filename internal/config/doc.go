// SPDX-License-Identifier: Apache-2.0

// Package config reads the configs of checks and channels. The structs of a
// type's config carry everything that is known of a member as tags, which also
// document it: json, doc, default, enum, minimum, maximum, minLength, maxLength,
// minItems, maxItems and secret.
package config
