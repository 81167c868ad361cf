// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// Limits of the API that an import has to respect.
const (
	maxName       = 200
	maxLabelValue = 200
	maxLabelKey   = 63
	minInterval   = time.Second
	maxInterval   = 30 * 24 * time.Hour
	maxTimeout    = 60 * time.Second
)

// oneLine returns a text without line breaks and control characters, with single spaces.
func oneLine(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// Name returns a text as the name of a resource: one line of 1 to 200 characters.
func Name(text, otherwise string) string {
	if text = cut(oneLine(text), maxName); text == "" {
		return otherwise
	}
	return text
}

// cut returns the first characters of a text.
func cut(text string, most int) string {
	if short := vigil.TruncateCharacters(text, most); short != text {
		return strings.TrimSpace(short)
	}
	return text
}

// SetLabel sets a label of a resource in the form that labels have. What does not fit is a
// loss.
func (c *Resource) SetLabel(name, value string) {
	key := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', strings.ContainsRune("._/-", r):
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, oneLine(name))
	what := fmt.Sprintf("label %s: %s", name, value)
	key, text := cut(key, maxLabelKey), cut(oneLine(value), maxLabelValue)
	labels, _ := c.Members.Get("labels").(Object)
	switch {
	case key == "":
		c.Lose(what, "a label needs a name")
		return
	case labels.Get(key) != nil:
		c.Lose(what, "the check has a label %s already", key)
		return
	case len(labels) >= vigil.MaxLabels:
		c.Lose(what, "a check has at most %d labels", vigil.MaxLabels)
		return
	case text != value:
		c.Lose(what, "a value of a label has one line of at most %d characters", maxLabelValue)
	case !strings.EqualFold(key, name): // the case of letters is no loss
		c.result.LoseSetting("label "+name, "it is %s in the files: a name of a label has a-z, 0-9, '.', '_', '/' and '-'", key)
	}
	labels.Set(key, text)
	c.Set("labels", labels)
}

// SetInterval sets the interval of a check: whole seconds within the limits. It returns what
// it set.
func (c *Resource) SetInterval(given time.Duration) time.Duration {
	used := c.fitInterval(given)
	c.Set("interval", seconds(used))
	return used
}

// fitInterval returns an interval as whole seconds within the limits. What differs is a loss.
func (c *Resource) fitInterval(given time.Duration) time.Duration {
	shortest := max(c.result.options.MinInterval.Truncate(time.Second), minInterval)
	used := min(max(given.Truncate(time.Second), shortest), maxInterval)
	if used != given {
		c.Lose("interval: "+given.String(), "Vigil checks every %s: an interval has whole seconds from %s to %s",
			seconds(used), seconds(shortest), seconds(maxInterval))
	}
	return used
}

// disable keeps a check from running that lacks the credentials or the way to its target.
func (c *Resource) disable() {
	c.Set("enabled", false)
	c.Lose("enabled", "the check is disabled: without its credentials or the way to its target it would fail while all is well")
}

func seconds(d time.Duration) string { return project.FormatSeconds(int64(d / time.Second)) }

// Timeout returns a timeout in whole seconds within the limits, at most the interval. What
// differs is a loss.
func (c *Resource) Timeout(given, interval time.Duration) int {
	longest := min(maxTimeout, max(interval.Truncate(time.Second), time.Second))
	used := min(max((given+time.Second-1).Truncate(time.Second), time.Second), longest)
	if used != given {
		c.Lose("timeout: "+given.String(), "Vigil waits %s: a timeout has whole seconds from 1s to %s, at most the interval",
			seconds(used), seconds(maxTimeout))
	}
	return int(used / time.Second)
}
