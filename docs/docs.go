// SPDX-License-Identifier: Apache-2.0

// Package docs has the pages of the documentation, which the program serves as text.
package docs

import "embed"

// Pages are the pages for people who use and operate Vigil, as Markdown.
//
//go:embed *.md
var Pages embed.FS
