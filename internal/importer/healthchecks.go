// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/project"
)

// maxHealthchecks bounds the answer of Healthchecks, in bytes.
const maxHealthchecks = 8 << 20

// healthchecks reads the checks of a project of Healthchecks, as its API gives them
// (healthchecks.io/docs/api/#list-checks).
func healthchecks() Source {
	return Source{
		Name: "healthchecks", Product: "Healthchecks", Argument: "checks.json",
		Short: "Write the checks of Healthchecks as files of a project",
		Long: "Read the checks of a project of Healthchecks, which GET /api/v3/checks/ answers, and write them as heartbeats. The jobs\n" +
			"have to ping other addresses, which the new checks have as ping_url. What Vigil does not have is reported in\n" +
			"comments, in a table and in IMPORT.md.",
		Example: "  curl -H \"X-Api-Key: $KEY\" https://healthchecks.io/api/v3/checks/ >checks.json\n" +
			"  vigil import healthchecks checks.json -o vigil/",
		Read: readHealthchecks,
	}
}

// healthchecksImport is one import of a project of Healthchecks.
type healthchecksImport struct {
	*Result

	channels map[string]string // names by their ids
	readOnly bool
}

func readHealthchecks(path string, o Options) (*Result, error) {
	text, err := readBounded(path, maxHealthchecks)
	if err != nil {
		return nil, err
	}
	read, err := decodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: is no JSON of Healthchecks: %w", path, jsonReason(err))
	}
	h := &healthchecksImport{Result: NewResult(healthchecks(), o), channels: map[string]string{}}
	root := newMembers(jsonValue(read), "", h.LoseSetting)
	checks := root.take("checks")
	switch {
	case root.get("error") != nil:
		return nil, fmt.Errorf("%s: is an error of Healthchecks, and no list of checks; ask again with the API key of the project", path)
	case checks == nil || checks.kind != listKind:
		return nil, fmt.Errorf(`%s: is no answer of GET /api/v3/checks/ of Healthchecks, which is an object with a list "checks"`, path)
	case len(checks.items) == 0:
		return nil, fmt.Errorf(`%s: its list "checks" is empty`, path)
	}
	h.Read(len(checks.items), "check")
	h.readChannels(root.list("channels"))
	for i, one := range checks.items {
		h.check(one, i)
	}
	for _, id := range slices.Sorted(maps.Keys(h.channels)) {
		h.Miss(
			project.KindChannel,
			h.channels[id],
			"the API of Healthchecks has no settings of its integrations; write a channel into the files, and rules",
		)
	}
	if h.readOnly {
		h.LoseSetting("channels", "a read-only API key does not see which integrations the checks notify")
	}
	h.LoseSetting("pings", "the history of pings stays in Healthchecks; uptime begins with the first result of Vigil")
	root.finish()
	return h.Result, nil
}

// readChannels reads the names of integrations, where the list of GET /api/v3/channels/ is added to the file.
func (h *healthchecksImport) readChannels(given []*value) {
	for _, one := range given {
		m := newMembers(one, "channels.", h.LoseSetting)
		id, kind, name := oneLine(m.marked("id")), oneLine(m.marked("kind")), oneLine(m.marked("name"))
		if id != "" {
			h.channels[id] = strings.TrimSpace(kind + " " + name)
		}
	}
}

// jsonReason returns an error of the decoder without the text of the file.
func jsonReason(err error) error {
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("byte %d: %w", wrong.Offset, err)
	}
	return err
}

// jsonValue returns a decoded value of JSON as one of a file. Members are in the order of their names.
// Characters that are marks of this package are replaced.
func jsonValue(read any) *value {
	switch read := read.(type) {
	case nil:
		return &value{}
	case []any:
		list := &value{kind: listKind}
		for _, one := range read {
			list.items = append(list.items, jsonValue(one))
		}
		return list
	case map[string]any:
		object := &value{kind: mapKind}
		for _, name := range slices.Sorted(maps.Keys(read)) {
			object.members = append(object.members, pair{unmarked(name), jsonValue(read[name])})
		}
		return object
	case string:
		return &value{kind: scalarKind, text: unmarked(read), quoted: true}
	}
	return &value{kind: scalarKind, text: fmt.Sprint(read)}
}
