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
	"github.com/vigil-monitor/vigil/internal/manifest"
)

// plan is what an apply does, or would do.
type plan struct {
	Plan       string       `json:"plan"`
	Applied    bool         `json:"applied"`
	Actions    []planAction `json:"actions"`
	Executions struct {
		Before float64 `json:"before"`
		After  float64 `json:"after"`
		Limit  float64 `json:"limit"`
	} `json:"executions_per_hour"`
}

// planAction is what is done to one object.
type planAction struct {
	Kind      string       `json:"kind"` // check, rule, channel, status_page, maintenance or subscription
	Key       string       `json:"key"`  // of a rule: check/rule
	ID        string       `json:"id"`
	Name      string       `json:"name"`
	Action    string       `json:"action"`
	Members   []planMember `json:"members"`
	ChangedBy string       `json:"changed_by"`
	ChangedAt string       `json:"changed_at"`
	Source    string       `json:"source"`
	Note      string       `json:"note"`
	Warnings  []string     `json:"warnings"`
}

// planMember is a difference in one member.
type planMember struct {
	Path    string          `json:"path"`
	From    json.RawMessage `json:"from"`
	To      json.RawMessage `json:"to"`
	Secret  bool            `json:"secret"`
	Unknown bool            `json:"unknown"`
	// Variable: a variable stands in the file's value, so To is the file's text and From is not
	// shown.
	Variable bool `json:"variable"`
}

// The actions of a plan.
const (
	actionCreate  = "create"
	actionChange  = "change"
	actionRestore = "restore"
	actionDelete  = "delete"
	actionRelease = "release"
	actionLeave   = "leave"
	actionNone    = "none"
)

// changes reports whether the action does something.
func (a planAction) changes() bool { return a.Action != actionNone && a.Action != actionLeave }

// count returns how many actions there are of some kinds.
func (p *plan) count(kinds ...string) int {
	n := 0
	for _, action := range p.Actions {
		if slices.Contains(kinds, action.Action) {
			n++
		}
	}
	return n
}

// changing are the actions that do something.
func (p *plan) changing() []planAction {
	return slices.DeleteFunc(slices.Clone(p.Actions), func(a planAction) bool { return !a.changes() })
}

// projectFlags are the flags of plan and apply.
type projectFlags struct {
	filesFlags

	prune, releaseMissing bool
}

func (f *projectFlags) add(cmd *cobra.Command) {
	f.filesFlags.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.prune, "prune", false, "delete what the project manages and no file has any more")
	flags.BoolVar(&f.releaseMissing, "release-missing", false, "stop managing what no file has any more, and keep it")
	before := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if f.prune && f.releaseMissing {
			return console.Errorf(console.Usage, "--prune and --release-missing exclude each other")
		}
		return before(cmd, args)
	}
}

// missing is what happens to objects that are in no file any more.
func (f *projectFlags) missing() string {
	switch {
	case f.prune:
		return "delete"
	case f.releaseMissing:
		return "release"
	}
	return "keep"
}

// arguments are the flags as they stand on a command line.
func (f *projectFlags) arguments() string {
	words := f.filesFlags.arguments()
	if f.prune {
		words += " --prune"
	}
	if f.releaseMissing {
		words += " --release-missing"
	}
	return words
}

// asks makes the body of an apply.
func asks(document *manifest.Document, missing string, dryRun bool, expect string) ([]byte, error) {
	request := map[string]any{
		"project": document.Project, "document": document.JSON(), "sources": document.Sources(), "dry_run": dryRun, "missing": missing,
	}
	if expect != "" {
		request["expect"] = expect
	}
	return json.Marshal(request)
}

// apply asks the server for a plan, or to apply it.
func (s *session) apply(
	ctx context.Context, document *manifest.Document, missing string, dryRun bool, expect string,
) (plan, []byte, error) {
	body, err := asks(document, missing, dryRun, expect)
	if err != nil {
		return plan{}, nil, err
	}
	what := "applying"
	if dryRun {
		what = "comparing"
	}
	progress := s.Progress("%s %s", what, contents(document))
	defer progress.Done()
	response, err := s.send(ctx, http.MethodPost, "/v1/apply", body)
	if err == nil && response.StatusCode == http.StatusBadRequest {
		return plan{}, nil, s.refused(response, document)
	}
	answer, text, err := read[struct {
		Data plan `json:"data"`
	}](s, response, err)
	if err != nil {
		return answer.Data, text, err
	}
	text, err = answer.Data.asWritten(document, text)
	return answer.Data, text, err
}

// refused shows the problems that the server found, with their positions in the files.
func (s *session) refused(response *http.Response, document *manifest.Document) error {
	body, err := s.body(response, nil)
	var said struct {
		Details struct {
			Errors []struct {
				Path    string `json:"path"`
				Message string `json:"message"`
			} `json:"errors"`
			More int `json:"more_errors"`
		} `json:"details"`
	}
	if json.Unmarshal(body, &said) != nil || len(said.Details.Errors) == 0 {
		return err
	}
	var problems manifest.Problems
	for _, one := range said.Details.Errors {
		problems = append(problems, document.Explain(one.Path, one.Message))
	}
	return failed(s.Console, problems.Sorted(), said.Details.More)
}

// onlyDrift leaves the actions that undo what was changed outside.
func (p *plan) onlyDrift(body []byte) ([]byte, error) {
	p.Actions = slices.DeleteFunc(p.Actions, func(a planAction) bool { return a.Action != actionRestore })
	var envelope map[string]map[string]json.RawMessage
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, err
	}
	var actions []json.RawMessage
	if err := json.Unmarshal(envelope["data"]["actions"], &actions); err != nil {
		return nil, err
	}
	actions = slices.DeleteFunc(actions, func(one json.RawMessage) bool {
		var action planAction
		return json.Unmarshal(one, &action) != nil || action.Action != actionRestore
	})
	kept, err := json.Marshal(actions)
	if err != nil {
		return nil, err
	}
	envelope["data"]["actions"] = kept
	return json.Marshal(envelope)
}

func (a *app) planCommand() *cobra.Command {
	var flags projectFlags
	var exitCode, drift bool
	cmd := &cobra.Command{
		Use:   "plan -f PATH...",
		Short: "Show what apply would change",
		Long: "Compare the files of a project with the server and show what `vigil apply` would change. Nothing is changed. A key\n" +
			"with the scope read is enough; it does not see whether a secret differs.\n" +
			"Besides the formats of other commands there is -o markdown, a comment for a pull request.",
		Example: "  vigil plan -f monitoring/\n  vigil plan -f monitoring/ --drift --exit-code",
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "end with 3 when something would change")
	cmd.Flags().BoolVar(&drift, "drift", false, "show only what was changed outside of the files")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, markdown, err := a.markdownSession(cmd)
		if err != nil {
			return err
		}
		document, err := a.document(s.Console, flags.filesFlags)
		if err != nil {
			return err
		}
		made, body, err := s.apply(cmd.Context(), document, flags.missing(), true, "")
		if err != nil {
			return err
		}
		if drift {
			if body, err = made.onlyDrift(body); err != nil {
				return err
			}
		}
		view := planView{plan: made, document: document, where: s.where(), arguments: flags.arguments(), drift: drift}
		if err := s.printPlan(view, body, markdown); err != nil {
			return err
		}
		if exitCode && made.count(actionCreate, actionChange, actionRestore, actionDelete, actionRelease) > 0 {
			return console.Silent(console.No)
		}
		return nil
	}
	return cmd
}

// markdownSession connects a command that has the format markdown besides the others.
func (a *app) markdownSession(cmd *cobra.Command) (s *session, markdown bool, err error) {
	if a.flags.output == "markdown" && a.flags.jq == "" {
		a.flags.output, markdown = string(console.Table), true
	}
	s, err = a.session(cmd)
	return s, markdown, err
}

func (s *session) printPlan(view planView, body []byte, markdown bool) error {
	if markdown {
		_, err := s.Out.Write(view.markdown())
		return err
	}
	names := []string{}
	for _, action := range view.plan.changing() {
		names = append(names, action.Kind+" "+action.Key)
	}
	return s.Print(console.Answer{Body: body, Names: names, Parts: []console.Part{view.lines()}})
}

// where names the server, with the context when there is one.
func (s *session) where() string {
	if s.to.Context != "" {
		return s.to.URL + " (context " + s.to.Context + ")"
	}
	return s.to.URL
}

// query sets parameters of a request.
func query(pairs ...string) client.RequestEditorFn {
	return func(_ context.Context, request *http.Request) error {
		values := request.URL.Query()
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i+1] != "" {
				values.Set(pairs[i], pairs[i+1])
			}
		}
		request.URL.RawQuery = values.Encode()
		return nil
	}
}
