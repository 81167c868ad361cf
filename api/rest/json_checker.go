// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
)

// checker walks the values of a body whose syntax is right.
type checker struct {
	ctx    context.Context //nolint:containedctx // a checker lives for one call of checkJSON
	data   []byte
	at     int // the next byte
	values int // that were read
	most   int // values that there may be
	// path leads to the value that is read. It becomes a text for an error only.
	path []step
}

// step leads from an array or object to a value in it.
type step struct {
	array bool
	index int    // of the element of an array
	name  string // of the member of an object
}

// here is the path of the value that is read, such as config.steps[1].url.
func (c *checker) here() string {
	var text strings.Builder
	for _, s := range c.path {
		switch {
		case s.array:
			text.WriteString("[" + strconv.Itoa(s.index) + "]")
		case text.Len() > 0:
			text.WriteString("." + s.name)
		default:
			text.WriteString(s.name)
		}
	}
	return memberName(text.String())
}

// peek returns the next byte that is no space.
func (c *checker) peek() byte {
	for {
		switch b := c.data[c.at]; b {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return b
		}
	}
}

func (c *checker) value() error {
	if c.values++; c.values > c.most {
		return vigil.Invalid("body", "has more than %d values, with objects, arrays and what is in them", c.most)
	}
	if c.values%checkPause == 0 {
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	switch c.peek() {
	case '{':
		return c.nested('}', step{}, c.member)
	case '[':
		return c.nested(']', step{array: true, index: -1}, c.element)
	case '"':
		return c.text()
	}
	return c.literal()
}

// nested checks the parts of an object or array. Each of them changes the last step of the
// path, which begins as first.
func (c *checker) nested(end byte, first step, part func(*names) error) error {
	if len(c.path) == maxDepth {
		return errDepth()
	}
	c.path = append(c.path, first)
	var given names
	for c.at++; c.peek() != end; {
		if c.data[c.at] == ',' {
			c.at++
		}
		if err := part(&given); err != nil {
			return err
		}
	}
	c.at++
	c.path = c.path[:len(c.path)-1]
	return nil
}

func (c *checker) element(*names) error {
	c.path[len(c.path)-1].index++
	return c.value()
}

func (c *checker) member(given *names) error {
	last := len(c.path) - 1
	c.path[last].name = ""
	c.peek()
	name, err := c.string()
	if err != nil {
		return err
	}
	c.path[last].name = strings.ReplaceAll(name, "\x00", "")
	if err := c.unfit(name); err != nil {
		return err
	}
	switch {
	case len(name) > maxNameBytes:
		return vigil.Invalid(c.here(), "has a name of more than %d bytes", maxNameBytes)
	case !given.add(name):
		return vigil.Invalid(c.here(), "is given more than once")
	}
	c.peek()
	c.at++ // the colon
	return c.value()
}

// token returns the string that is next, with its quotes.
func (c *checker) token() []byte {
	begin := c.at
	c.at = stringEnd(c.data, begin)
	return c.data[begin:c.at]
}

// string returns the string that is next.
func (c *checker) string() (text string, err error) {
	token := c.token()
	if bytes.IndexByte(token, '\\') < 0 {
		return string(token[1 : len(token)-1]), nil
	}
	err = json.Unmarshal(token, &text)
	return text, err
}

// text checks the string that is next.
func (c *checker) text() error {
	begin := c.at
	token := c.token()
	if bytes.IndexByte(token, '\\') < 0 && !bytes.ContainsRune(token, utf8.RuneError) {
		return nil // NUL has to be escaped
	}
	c.at = begin
	text, err := c.string()
	if err != nil {
		return err
	}
	return c.unfit(text)
}

// unfit refuses text that Postgres cannot hold or that was no text to begin with:
// encoding/json reads a lone surrogate as U+FFFD.
func (c *checker) unfit(text string) error {
	switch {
	case strings.ContainsRune(text, 0):
		return vigil.Invalid(c.here(), "holds a NUL character")
	case strings.ContainsRune(text, utf8.RuneError):
		return vigil.Invalid(c.here(), "holds a character that is not valid Unicode")
	}
	return nil
}

// literal checks a number, true, false or null.
func (c *checker) literal() error {
	begin := c.at
	for c.at < len(c.data) && strings.IndexByte(" \t\r\n,]}", c.data[c.at]) < 0 {
		c.at++
	}
	if token := c.data[begin:c.at]; token[0] == '-' || token[0] <= '9' {
		if _, err := strconv.ParseFloat(string(token), 64); err != nil {
			return vigil.Invalid(c.here(), "is a number beyond what can be represented")
		}
	}
	return nil
}

// names are those of the members of an object that were read.
type names struct {
	few  []string
	many map[string]bool // nil while there are few
}

// fewNames are compared with each other, which costs less than a map of them.
const fewNames = 16

// add reports whether a name is a new one.
func (n *names) add(name string) bool {
	if n.many == nil && len(n.few) < fewNames {
		fresh := !slices.Contains(n.few, name)
		n.few = append(n.few, name)
		return fresh
	}
	if n.many == nil {
		n.many = make(map[string]bool, 2*fewNames)
		for _, one := range n.few {
			n.many[one] = true
		}
	}
	fresh := !n.many[name]
	n.many[name] = true
	return fresh
}
