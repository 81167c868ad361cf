// SPDX-License-Identifier: Apache-2.0

// Package config reads the configs of checks and channels. The structs of a type's config carry
// everything that is known of a member as tags, which also document it: json, doc, default, enum,
// minimum, maximum, minLength, maxLength, minItems, maxItems, secret and place; and, for forms, those
// of Field (describe.go).
//
// Decode fills a struct from JSON and compares it with its tags: an unknown member, a wrong type
// and a value out of range are errors that name the member by its path (decode.go). Document makes
// the schema of the same struct, for the OpenAPI document and the forms (document.go). Secrets
// reads which members are secret (secret.go), for the keyring and the mask. Headers checks given
// HTTP headers by RFC 9110 (header.go).
//
// So a type says once what its config is: decoding, documentation, sealing, masking and redaction
// follow. What a tag cannot say, such as two members that exclude each other, the type checks
// itself.
package config
