// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// bulkAction is something that is done to many checks at once.
type bulkAction struct {
	verb, short, done string
	action            client.CheckBulkRequestAction
	destructive       bool
}

func pauseChecks() bulkAction {
	return bulkAction{"pause", "Pause checks: they keep their results and are not run", "paused", client.CheckBulkRequestActionDisable, false}
}

func resumeChecks() bulkAction {
	return bulkAction{"resume", "Resume paused checks", "resumed", client.CheckBulkRequestActionEnable, false}
}

func deleteChecks() bulkAction {
	return bulkAction{
		"delete", "Delete checks with their results, rules and incidents", "deleted", client.CheckBulkRequestActionDelete, true,
	}
}

// bulkMost is how many checks one request may change.
const bulkMost = 1000

func (a *app) checkBulkCommand(what bulkAction) *cobra.Command {
	var filter checkFilter
	var all bool
	cmd := &cobra.Command{
		Use: what.verb + " [<check>...]", Short: what.short, ValidArgsFunction: a.suggest(suggestChecks),
		Long: what.short + ".\nName checks, or select them with flags; --all selects every one.",
	}
	filter.addFlags(cmd)
	a.regionFlag(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "every check of the organization")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if selectors := count(len(args) > 0, filter.given(), all); selectors != 1 {
			return console.Errorf(console.Usage, "name the checks to %s, or select them with flags, or give --all: one of the three", what.verb)
		}
		return nil
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		selected, err := s.selectChecks(ctx, args, filter.params(cmd))
		if err != nil {
			return err
		}
		if what.destructive {
			change := console.Change{Action: what.verb, Kind: "check"}
			for _, check := range selected {
				change.Objects = append(change.Objects, console.Object{ID: check.ID.String(), Name: check.Name})
			}
			if err := s.Confirm(change); err != nil {
				return err
			}
		}
		return s.changeChecks(ctx, selected, what)
	})
	return cmd
}

func count(conditions ...bool) (n int) {
	for _, condition := range conditions {
		if condition {
			n++
		}
	}
	return n
}

// selectChecks finds the named checks, or those of a filter.
func (s *session) selectChecks(ctx context.Context, refs []string, params *client.ListChecksParams) ([]named, error) {
	if len(refs) == 0 {
		all, err := list[named](s, maxScan, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListChecks(ctx, params, page)
		})
		return all.data, err
	}
	var selected []named
	for _, ref := range refs {
		found, err := s.check(ctx, ref)
		if err != nil {
			return nil, err
		}
		if found.Name == "" { // an ID says nothing of the check yet
			response, err := s.api.GetCheck(ctx, found.ID, nil)
			answer, _, err := read[client.CheckAnswer](s, response, err)
			if err != nil {
				return nil, err
			}
			found.Name, found.Regions = answer.Data.Name, answer.Data.Regions
		}
		if !slices.ContainsFunc(selected, func(n named) bool { return n.ID == found.ID }) {
			selected = append(selected, found)
		}
	}
	return selected, nil
}

// changeChecks does it, at most bulkMost checks in one request.
func (s *session) changeChecks(ctx context.Context, selected []named, what bulkAction) error {
	result := client.BulkResultAnswer{Data: client.BulkResult{Action: client.BulkResultAction(what.action), Checks: []client.BulkCheck{}}}
	progress := s.Progress("changing checks")
	for part := range slices.Chunk(selected, bulkMost) {
		ids := make([]string, len(part))
		for i, check := range part {
			ids[i] = check.ID.String()
		}
		response, err := s.api.ChangeChecks(ctx, client.CheckBulkRequest{Action: what.action, Ids: &ids})
		answer, _, err := read[client.BulkResultAnswer](s, response, err)
		if err != nil {
			progress.Done()
			return err
		}
		result.Data.Matched += answer.Data.Matched
		result.Data.Changed += answer.Data.Changed
		result.Data.Checks = append(result.Data.Checks, answer.Data.Checks...)
		progress.Set("changing checks: %d of %d", result.Data.Matched, len(selected))
	}
	progress.Done()
	body, err := json.Marshal(result)
	if err != nil {
		return err
	}
	table := console.List{Columns: console.Columns("ID", "NAME", "CHANGE"), Empty: "No checks."}
	ids := []string{}
	var warnings []*[]string
	for _, check := range result.Data.Checks {
		warnings = append(warnings, check.Warnings)
		did := what.done
		if !check.Changed {
			did = "was " + what.done + " already"
		}
		ids = append(ids, check.Id.String())
		table.Rows = append(table.Rows, []console.Cell{console.ID(check.Id.String()), console.Text(check.Name), console.Word(did)})
	}
	err = s.Print(console.Answer{Body: body, Names: ids, Parts: []console.Part{table}})
	s.noteWarnings(warnings...)
	return err
}
