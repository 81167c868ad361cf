// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"regexp"
	"strings"
)

// Names after @ that call everybody of a channel: Discord, Mattermost and Rocket.Chat read
// them wherever they stand. Other names they read at the beginning of a word.
var (
	callsAll = regexp.MustCompile(`(?i)@(everyone|here|channel|all)\b`)    // compiled once
	callsOne = regexp.MustCompile(`(^|[^\pL\pN._+-])@([\pL\pN&!_.-])`)     // compiled once
	markup   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;") //nolint:gochecknoglobals // a constant that Go cannot spell as one
)

// defuse keeps a value from calling people: a space without width stands behind an @ that a
// chat would read as the beginning of a name. The @ of an email address stays as it is.
func defuse(text string) string {
	text = callsAll.ReplaceAllString(text, "@\u200b$1")
	return callsOne.ReplaceAllString(text, "$1@\u200b$2")
}

// escapeChat keeps a value from being read as a mention or a link by Slack and by those that
// imitate it. Slack's own mentions, such as <!channel>, are markup (docs.slack.dev,
// "Formatting message text"); those of the others are plain text.
func escapeChat(text string) string { return markup.Replace(defuse(text)) }
