// SPDX-License-Identifier: Apache-2.0

// Package provider is the Terraform provider of Vigil: a client of its API. What the resources have
// comes from the OpenAPI document; the table in kinds.go says what is special to Terraform.
//
// schema.go makes the schema of each resource and data source from the document, with its texts,
// ranges and secrets; encode.go and decode.go convert values between Terraform and JSON. A resource
// is created, read, changed and deleted through the same calls as every client makes, with an
// Idempotency-Key for what is created and the revision for what is changed. So a member that the
// API gets is in the provider when the copy of the document is renewed (`make terraform-docs`).
package provider
