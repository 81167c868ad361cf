// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Format is how an answer is written.
type Format string

// The formats.
const (
	Table Format = "table"
	Wide  Format = "wide"
	JSON  Format = "json"
	YAML  Format = "yaml"
	Name  Format = "name"
)

// Formats returns the names of all formats.
func Formats() []string {
	return []string{string(Table), string(Wide), string(JSON), string(YAML), string(Name)}
}

// ParseFormat reads the name of a format.
func ParseFormat(text string) (Format, error) {
	switch format := Format(text); format {
	case Table, Wide, JSON, YAML, Name:
		return format, nil
	}
	return "", Errorf(Usage, "--output is %q; it must be table, wide, json, yaml or name", text)
}

// Answer is what a command prints.
type Answer struct {
	// Body is the JSON of the answer, an object with the member data.
	Body []byte
	// Names are printed by the format name, a line each. Nil: the ids in Body.
	Names []string
	// Parts are printed by the formats table and wide.
	Parts []Part
}

// Print writes an answer to standard output.
func (c *Console) Print(a Answer) error {
	text, notes, err := c.render(a)
	if err != nil {
		return err
	}
	if _, err := c.Out.Write(text); err != nil {
		return err
	}
	for _, note := range notes {
		for _, line := range wrapped(note, c.errWidth) { // 0 when it is no terminal
			c.Note("%s", line)
		}
	}
	return nil
}

func (c *Console) render(a Answer) (text []byte, notes []string, err error) {
	if c.Query != nil {
		text, err = c.Query.run(a.Body)
		return text, nil, err
	}
	switch c.Format {
	case JSON:
		text, err = c.json(a.Body)
	case YAML:
		text, err = ToYAML(a.Body)
	case Name:
		text, err = names(a)
	case Table, Wide:
		p := &painter{terminal: c.OutTTY, wide: c.Format == Wide, colour: c.Colour, width: c.Width, now: c.Now()}
		for _, part := range a.Parts {
			part.draw(p)
		}
		text, notes = p.out.Bytes(), p.notes
	}
	return text, notes, err
}

// json returns the body as it is, or indented on a terminal.
func (c *Console) json(body []byte) ([]byte, error) {
	var out bytes.Buffer
	if c.OutTTY {
		if err := json.Indent(&out, body, "", "  "); err != nil {
			return nil, fmt.Errorf("the answer is no JSON: %w", err)
		}
	} else {
		out.Write(bytes.TrimSpace(body))
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// names returns the ids of an answer.
func names(a Answer) ([]byte, error) {
	all := a.Names
	if all == nil {
		var envelope struct {
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(a.Body, &envelope); err != nil {
			return nil, fmt.Errorf("the answer is no JSON: %w", err)
		}
		type named struct {
			ID   string `json:"id"`
			Key  string `json:"key"`
			Name string `json:"region"`
		}
		var many []named
		if json.Unmarshal(envelope.Data, &many) != nil {
			many = make([]named, 1)
			if err := json.Unmarshal(envelope.Data, &many[0]); err != nil {
				return nil, fmt.Errorf("the answer has no ids: %w", err)
			}
		}
		for _, one := range many {
			for _, name := range []string{one.ID, one.Key, one.Name} {
				if name != "" {
					all = append(all, name)
					break
				}
			}
		}
	}
	var out bytes.Buffer
	for _, name := range all {
		out.WriteString(Clean(name) + "\n")
	}
	return out.Bytes(), nil
}
