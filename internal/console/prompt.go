// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Change is what a command is about to do, for a confirmation.
type Change struct {
	Action  string   `json:"action"`            // such as "delete"
	Kind    string   `json:"kind"`              // such as "check"
	Objects []Object `json:"objects,omitempty"` // what it is done to
}

// Object is one of the things that a change concerns.
type Object struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// fewObjects is how many things may be deleted after a plain yes. For more, their number
// has to be typed.
const fewObjects = 5

// Confirm asks before a change that cannot be undone. Without a terminal and
// without Yes it prints the change as JSON, and the error ends the
// command with Usage.
func (c *Console) Confirm(change Change) error {
	if c.Yes || len(change.Objects) == 0 {
		return nil
	}
	if !c.Interactive() {
		body, err := json.Marshal(map[string]any{"confirmation_required": change})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.Out, "%s\n", body); err != nil {
			return err
		}
		return Errorf(Usage, "nothing was changed: without a terminal to ask on, confirm with --yes")
	}
	n := len(change.Objects)
	if n == 1 {
		return c.Expect("y", "%s the %s %s? [y/N] ", title(change.Action), change.Kind, change.Objects[0].label())
	}
	for _, object := range change.Objects[:min(n, 10)] {
		_, _ = fmt.Fprintf(c.Err, "  %s\n", object.label())
	}
	if n > 10 {
		_, _ = fmt.Fprintf(c.Err, "  and %s more\n", Thousands(int64(n-10)))
	}
	if n <= fewObjects {
		return c.Expect("y", "%s these %d %ss? [y/N] ", title(change.Action), n, change.Kind)
	}
	return c.Expect(strconv.Itoa(n), "%s all %d %ss? Type their number to confirm: ", title(change.Action), n, change.Kind)
}

func (o Object) label() string {
	id := ShortID(o.ID)
	if o.Name == "" {
		return id
	}
	return fmt.Sprintf("%q (%s)", Clean(o.Name), id)
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// Expect asks, and fails unless the answer is what confirms: "y", or the number of things.
func (c *Console) Expect(confirms, format string, args ...any) error {
	answer, err := c.Ask(fmt.Sprintf(format, args...))
	if err != nil {
		return err
	}
	answer = strings.ToLower(answer)
	if answer == confirms || confirms == "y" && answer == "yes" {
		return nil
	}
	return Errorf(Usage, "nothing was changed: not confirmed")
}

// Ask asks for a line on the terminal.
func (c *Console) Ask(question string) (string, error) {
	_, _ = fmt.Fprint(c.Err, question)
	line, err := ReadLine(c.In)
	if err != nil {
		return "", Errorf(Usage, "nothing was changed: no answer")
	}
	return strings.TrimSpace(line), nil
}

// maxLine bounds a line that is read, in bytes.
const maxLine = 64 * 1024

// ReadLine reads one line, without its end. The end of the input ends a line too.
func ReadLine(in io.Reader) (string, error) {
	reader := bufio.NewReader(io.LimitReader(in, maxLine))
	line, err := reader.ReadString('\n')
	if err != nil && line == "" {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
