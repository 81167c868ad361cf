package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"vigil/client"
	"vigil/console"
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
			found.Name = answer.Data.Name
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
	for _, check := range result.Data.Checks {
		did := what.done
		if !check.Changed {
			did = "was " + what.done + " already"
		}
		ids = append(ids, check.Id.String())
		table.Rows = append(table.Rows, []console.Cell{console.ID(check.Id.String()), console.Text(check.Name), console.Word(did)})
	}
	return s.Print(console.Answer{Body: body, Names: ids, Parts: []console.Part{table}})
}

func (a *app) checkTestCommand() *cobra.Command {
	var region string
	var dryRun, all bool
	var filter checkFilter
	cmd := &cobra.Command{
		Use: "test [<check>...]", Short: "Run checks now and show the results; exit code 3 when one failed",
		Long: "Run checks now and wait for the results. The exit code is 3 when one failed.\n" +
			"A result counts for the health of the check, unless --dry-run is given.",
		ValidArgsFunction: a.suggest(suggestChecks),
	}
	flags := cmd.Flags()
	flags.StringVar(&region, "region", "", "`region` to run in (default: the first one of the check)")
	flags.BoolVar(&dryRun, "dry-run", false, "neither store nor count the result")
	flags.StringVar(&filter.project, "project", "", "run those that the files of a `project` manage")
	flags.StringArrayVar(&filter.labels, "label", nil, "run those with a label, `key=value` or key; may be repeated")
	flags.BoolVar(&all, "all", false, "run every enabled check of the organization")
	complete(cmd, "region", a.regionKeys(cmd))
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if count(len(args) > 0, filter.given(), all) != 1 {
			return console.Errorf(console.Usage, "name the checks to test, or select them with --label, or give --all: one of the three")
		}
		return nil
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		params := filter.params(cmd)
		if len(args) == 0 {
			params.Enabled = new(true)
		}
		selected, err := s.selectChecks(ctx, args, params)
		if err != nil {
			return err
		}
		return s.testChecks(ctx, selected, &client.TestCheckParams{Region: optional(region), DryRun: optional(dryRun)}, len(args) == 1)
	})
	return cmd
}

// testChecks runs checks. One alone is answered as the API answers it, several as a list.
func (s *session) testChecks(ctx context.Context, selected []named, params *client.TestCheckParams, alone bool) error {
	table := console.List{Columns: append(console.Columns("CHECK"), resultColumns()...), Empty: "No checks."}
	bodies, failed := []json.RawMessage{}, 0
	progress := s.Progress("testing")
	for i, check := range selected {
		progress.Set("testing %s, %d of %d", check.Name, i+1, len(selected))
		response, err := s.api.TestCheck(ctx, check.ID, params, once())
		answer, body, err := read[client.ResultAnswer](s, response, err)
		if err != nil {
			progress.Done()
			return err
		}
		if !answer.Data.Success {
			failed++
		}
		table.Rows = append(table.Rows, append([]console.Cell{console.Text(check.Name)}, resultRow(answer.Data)...))
		if alone {
			bodies = append(bodies, body)
			continue
		}
		var envelope struct {
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(body, &envelope); err != nil {
			progress.Done()
			return err
		}
		bodies = append(bodies, envelope.Data)
	}
	progress.Done()
	body := bodiesOf(bodies, alone)
	if err := s.Print(console.Answer{Body: body, Parts: []console.Part{table}}); err != nil {
		return err
	}
	if failed > 0 {
		return console.Silent(console.No)
	}
	return nil
}

func bodiesOf(bodies []json.RawMessage, alone bool) []byte {
	if alone {
		return bodies[0]
	}
	body, _ := json.Marshal(map[string]any{"data": bodies}) // of JSON that was decoded before
	return body
}
