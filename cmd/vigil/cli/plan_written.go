// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"

	"github.com/vigil-monitor/vigil/internal/manifest"
)

// asWritten puts the files' own text in place of everything that came from a variable, in the
// plan and in the answer that it was read from: a plan is posted where many can read it, and a
// variable may be a secret in any member. What the server had before is not shown there.
func (p *plan) asWritten(document *manifest.Document, answer []byte) ([]byte, error) {
	hidden := false
	for i := range p.Actions {
		hidden = p.Actions[i].asWritten(document) || hidden
	}
	if !hidden {
		return answer, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	var tree struct {
		Data struct {
			Plan       string           `json:"plan"`
			Applied    bool             `json:"applied"`
			Actions    []map[string]any `json:"actions"`
			Executions any              `json:"executions_per_hour"`
		} `json:"data"`
	}
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	for i, action := range tree.Data.Actions {
		action["name"] = p.Actions[i].Name
		if action["note"] != nil {
			action["note"] = p.Actions[i].Note
		}
		members, _ := action["members"].([]any)
		for j, each := range members {
			member, _ := each.(map[string]any)
			if !p.Actions[i].Members[j].Variable {
				continue
			}
			delete(member, "from")
			delete(member, "to")
			member["variable"] = true
			if to := p.Actions[i].Members[j].To; to != nil {
				member["to"] = to
			}
		}
	}
	return json.Marshal(tree)
}

// asWritten reports whether it changed something.
func (a *planAction) asWritten(document *manifest.Document) bool {
	hidden := false
	for _, member := range []string{"name", "title"} { // the name of a status page is its title
		var name string
		if value, found := document.AsWritten(a.Kind, a.Key, member); found && json.Unmarshal(value, &name) == nil {
			hidden, a.Name = true, name
		}
	}
	if note := document.Redacted(a.Note); note != a.Note {
		hidden, a.Note = true, note
	}
	for i := range a.Members {
		m := &a.Members[i]
		if m.Secret || len(m.To) == 0 || string(m.To) == "null" {
			continue // not shown in any case, or not in the files
		}
		if value, found := document.AsWritten(a.Kind, a.Key, m.Path); found {
			hidden, m.From, m.To, m.Variable = true, nil, value, true
		}
	}
	return hidden
}
