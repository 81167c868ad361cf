// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/manifest"
)

// selectTrials returns the checks with the keys, or all of them without one.
func selectTrials(all []manifest.Trial, only []string) ([]manifest.Trial, error) {
	if len(only) == 0 {
		return all, nil
	}
	var selected []manifest.Trial
	for _, key := range only {
		i := slices.IndexFunc(all, func(t manifest.Trial) bool { return t.Key == key })
		if i < 0 {
			return nil, console.Errorf(console.Usage, "--only %s: there is no such check in the files", key)
		}
		selected = append(selected, all[i])
	}
	return selected, nil
}

// try runs checks once, and prints the results.
func (s *session) try(ctx context.Context, trials []manifest.Trial, regions []string) error {
	table := console.List{Columns: append(console.Columns("CHECK"), resultColumns()...), Empty: "No checks in the files."}
	type tried struct {
		Key     string            `json:"key"`
		Name    string            `json:"name"`
		Results []json.RawMessage `json:"results"`
	}
	all, failed := []tried{}, false
	progress := s.Progress("testing")
	defer func() { progress.Done() }()
	for i, trial := range trials {
		progress.Set("testing %s, %d of %d", trial.Key, i+1, len(trials))
		raw, err := s.tryOnce(ctx, trial, regions)
		if err != nil {
			return err
		}
		for _, one := range raw {
			var result client.Result
			if err := json.Unmarshal(one, &result); err != nil {
				return err
			}
			failed = failed || !result.Success
			table.Rows = append(table.Rows, append([]console.Cell{console.Text(trial.Key)}, resultRow(result)...))
		}
		all = append(all, tried{trial.Key, trial.Name, raw})
	}
	body, err := json.Marshal(map[string]any{"data": all})
	if err != nil {
		return err
	}
	if err := s.Print(console.Answer{Body: body, Names: []string{}, Parts: []console.Part{table}}); err != nil {
		return err
	}
	if failed {
		return console.Silent(console.No)
	}
	return nil
}

// tryOnce runs a check once in each of its regions.
func (s *session) tryOnce(ctx context.Context, trial manifest.Trial, regions []string) ([]json.RawMessage, error) {
	request := map[string]any{"type": trial.Type, "config": trial.Config}
	if len(regions) == 0 {
		regions = trial.Regions
	}
	if len(regions) > 0 {
		request["regions"] = regions
	}
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	response, err := s.send(ctx, "POST", "/v1/checks/try", text)
	answer, _, err := read[struct {
		Data []json.RawMessage `json:"data"`
	}](s, response, err)
	if err != nil {
		return nil, console.Errorf(console.CodeOf(err), "checks.%s: %w", trial.Key, err)
	}
	return answer.Data, nil
}
