// SPDX-License-Identifier: Apache-2.0

// Package project compares the definitions of files as code with what is stored, and says what an
// apply of them changes.
//
// A Document is what the files of a project say: ReadDocument reads it, Document.Wanted fills in
// its defaults and lists what is wanted. NewChangeset pairs that with what is stored and makes
// Actions, each with the members that differ; secrets in them are compared and never shown. Its
// fingerprint identifies a plan, so that an apply does what was shown. Storage makes the Changes in
// one transaction, from the Inventory that it has locked.
//
// api/apply leads an apply through these steps, package manifest reads the files for the command
// line, and package importer writes them. Nothing here reads a store, so a plan and an apply cannot
// decide differently.
package project
