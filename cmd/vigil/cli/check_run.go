// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// testFlags are the flags of `vigil check test`.
type testFlags struct {
	region            string
	dryRun, all, wait bool
	limit             time.Duration // of all tests together, with wait
}

func (a *app) checkTestCommand() *cobra.Command {
	var t testFlags
	var filter checkFilter
	cmd := &cobra.Command{
		Use: "test [<check>...]", Short: "Run checks now and show the results; exit code 3 when one failed",
		Long: "Run checks now and wait for the results. The exit code is 3 when one failed.\n" +
			"A result counts for the health of the check, unless --dry-run is given.\n\n" +
			"A check runs in its first region, or in that of --region. With --wait it runs in each of its regions, and a\n" +
			"region that cannot run it now is tried again until --timeout; the exit code is then also 3 when a region has no result.",
		Example: "  vigil check test Shop\n" +
			"  vigil check test --label team=shop --wait --timeout 2m   # after a deploy",
		ValidArgsFunction: a.suggest(suggestChecks),
	}
	flags := cmd.Flags()
	flags.StringVar(&t.region, "region", "", "`region` to run in (default: the first one of the check)")
	flags.BoolVar(&t.dryRun, "dry-run", false, "neither store nor count the result")
	flags.BoolVar(&t.wait, "wait", false, "run in every region of the checks, and wait for each until --timeout (100s)")
	flags.StringVar(&filter.project, "project", "", "run those that the files of a `project` manage")
	flags.StringArrayVar(&filter.labels, "label", nil, "run those with a label, `key=value` or key; may be repeated")
	flags.BoolVar(&t.all, "all", false, "run every enabled check of the organization")
	a.regionFlag(cmd)
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if count(len(args) > 0, filter.given(), t.all) != 1 {
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
		if t.limit = testTimeout; cmd.Flag("timeout").Changed {
			t.limit = a.flags.timeout
		}
		return s.testChecks(ctx, selected, t, len(args) == 1 && !t.wait)
	})
	return cmd
}

// checkRun is one check in one region, and what became of it.
type checkRun struct {
	check  named
	region string // "": the first one of the check

	result client.Result
	body   json.RawMessage // of the answer; nil: there is no result
	reason string          // why there is no result in time
}

// testsAtOnce is how many tests are under way. Every tier permits as many.
const testsAtOnce = 4

// testChecks runs checks. One alone is answered as the API answers it, several as a list.
func (s *session) testChecks(ctx context.Context, selected []named, t testFlags, alone bool) error {
	var runs []*checkRun
	for _, check := range selected {
		regions := []string{t.region}
		if t.wait && t.region == "" {
			regions = check.Regions
		}
		for _, region := range regions {
			runs = append(runs, &checkRun{check: check, region: region})
		}
	}
	if err := s.runAll(ctx, runs, t); err != nil {
		return err
	}
	table := console.List{Columns: append(console.Columns("CHECK"), resultColumns()...), Empty: "No checks."}
	succeeded := true
	for _, run := range runs {
		succeeded = succeeded && run.body != nil && run.result.Success
		table.Rows = append(table.Rows, append([]console.Cell{console.Text(run.check.Name)}, run.row()...))
	}
	body, err := bodyOf(runs, t, alone)
	if err != nil {
		return err
	}
	if err := s.Print(console.Answer{Body: body, Parts: []console.Part{table}}); err != nil {
		return err
	}
	if !succeeded {
		return console.Silent(console.No)
	}
	return nil
}

// runAll runs tests side by side. The first error ends all of them.
func (s *session) runAll(ctx context.Context, runs []*checkRun, t testFlags) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bounded, stop := ctx, func() {}
	if t.wait {
		bounded, stop = context.WithTimeout(ctx, t.limit)
	}
	defer stop()
	progress := s.Progress("testing")
	defer progress.Done()
	var wait sync.WaitGroup
	var mu sync.Mutex
	done := 0
	places := make(chan struct{}, testsAtOnce)
	for _, run := range runs {
		wait.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if err := s.run(bounded, run, t); err != nil {
				cancel(err)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			progress.Set("testing, %d of %d done", done, len(runs))
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// testAgain is how long to wait before a region that could not run a test is asked again.
const testAgain = time.Second

// run runs one test. With t.wait it tries again while the server asks for that, and time
// that runs out is no error.
func (s *session) run(ctx context.Context, run *checkRun, t testFlags) error {
	params := &client.TestCheckParams{Region: optional(run.region), DryRun: optional(t.dryRun)}
	for {
		response, err := s.api.TestCheck(ctx, run.check.ID, params, once())
		answered := response != nil
		answer, body, err := read[client.ResultAnswer](s, response, err)
		if err == nil {
			run.result, run.body = answer.Data, body
			return nil
		}
		late := t.wait && errors.Is(ctx.Err(), context.DeadlineExceeded)
		busy := t.wait && answered && console.CodeOf(err) == console.Unreachable
		if busy && !late {
			run.reason = err.Error()
			late = sleep(ctx, testAgain) != nil
		}
		if late && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			if run.reason == "" {
				run.reason = fmt.Sprintf("no answer within %s", t.limit)
			}
			return nil
		}
		if !busy {
			return err
		}
	}
}

// row is the row of a run behind the name of its check.
func (r *checkRun) row() []console.Cell {
	if r.body != nil {
		return resultRow(r.result)
	}
	return []console.Cell{
		console.Time(nil), console.Word(r.region), health("no result"), console.Word(""), console.Word(""), console.Text(r.reason),
		console.ID(""),
	}
}

// missingResult is a region that had no result in time.
type missingResult struct {
	CheckID uuid.UUID `json:"check_id"`
	Region  string    `json:"region"`
	Reason  string    `json:"reason"`
}

// bodyOf is the JSON of the results.
func bodyOf(runs []*checkRun, t testFlags, alone bool) ([]byte, error) {
	if alone {
		return runs[0].body, nil
	}
	data, missing := []json.RawMessage{}, []missingResult{}
	for _, run := range runs {
		if run.body == nil {
			missing = append(missing, missingResult{run.check.ID, run.region, run.reason})
			continue
		}
		var envelope struct {
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(run.body, &envelope); err != nil {
			return nil, err
		}
		data = append(data, envelope.Data)
	}
	body := map[string]any{"data": data}
	if t.wait {
		body["meta"] = map[string]any{"missing": missing}
	}
	return json.Marshal(body)
}
