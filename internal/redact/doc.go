// SPDX-License-Identifier: Apache-2.0

// Package redact hides the secrets of a config in what a target or a receiver sends back: errors,
// metadata, answers. Every room that speaks to other systems uses it before a text is stored or
// shown.
//
// A Redactor knows the secret values of one config, and With adds what is made of them on the way,
// such as a header of basic authentication. It looks for them in every spelling that
// docs/security.md promises: in any case, escaped for JSON, HTML or an address (escaped.go),
// backwards, in hexadecimal digits and in base64. A text that was cut off may end within a secret:
// Excerpt and CutMark see to it that the beginning does not stay either. A short secret is looked
// for in clear only, since its other forms would be found everywhere.
package redact
