// SPDX-License-Identifier: Apache-2.0

package notify

import "strings"

// markdownMarks are the characters that Markdown of chats reads in the middle of a text.
var markdownMarks = strings.NewReplacer( //nolint:gochecknoglobals // a constant that Go cannot spell as one
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "|", `\|`, "<", `\<`, ">", `\>`, "[", `\[`, "]", `\]`, "#", `\#`,
)

// markdownAddress writes an address for a link of Markdown.
var markdownAddress = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E") //nolint:gochecknoglobals // likewise

// escapeMarkdown keeps a value from being read as Markdown and from mentioning people.
func escapeMarkdown(text string) string { return markdownMarks.Replace(defuse(text)) }

// cutMarkdown bounds an escaped text to so many characters, and leaves no backslash that would
// escape what stands behind it.
func cutMarkdown(text string, limit int) string {
	return withoutEscape(text, cutCharacters(text, limit))
}

// cutBytes is cutMarkdown with a limit in bytes.
func cutBytes(text string, limit int) string { return withoutEscape(text, cut(text, limit)) }

func withoutEscape(text, short string) string {
	if short == text {
		return text
	}
	short = strings.TrimSuffix(short, cutMark)
	if (len(short)-len(strings.TrimRight(short, `\`)))%2 == 1 {
		short = short[:len(short)-1]
	}
	return short + cutMark
}

// markdownLink is a line with the links of a message, empty where it has none.
func markdownLink(m *Message) string {
	var list []string
	for _, l := range m.links("") {
		list = append(list, "["+l.Name+"]("+markdownAddress.Replace(l.URL)+")")
	}
	if len(list) == 0 {
		return ""
	}
	return "\n" + strings.Join(list, linkSeparator)
}

// joinLines puts a body below a title, where it has something to read.
func joinLines(title, body string) string {
	if blank(body) {
		return title
	}
	return title + "\n" + body
}
