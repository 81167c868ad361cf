// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/manifest"
)

// applyFlags are the flags of apply.
type applyFlags struct {
	projectFlags

	plan       string
	pruneLimit int
}

func (a *app) applyCommand() *cobra.Command {
	var flags applyFlags
	cmd := &cobra.Command{
		Use:   "apply -f PATH...",
		Short: "Make the server have what the files say",
		Long: "Show what changes, ask on a terminal, and make the server have what the files of a project say: all of it or\n" +
			"nothing. Objects that the project does not manage are not touched, and what is in no file any more is kept unless\n" +
			"--prune is given. With --plan nothing is asked: exactly that plan is applied, or none.",
		Example: "  vigil apply -f monitoring/\n" +
			"  vigil apply -f monitoring/ --plan 3d1f0c5be2a94e7d8b6055f17f3a91c2\n" +
			"  vigil apply -f monitoring/ --prune --yes",
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.plan, "plan", "", "apply only when this `plan` still holds: all 32 digits, as vigil plan prints them")
	cmd.Flags().IntVar(&flags.pruneLimit, "prune-limit", -1, "delete at most this `number` of objects without asking for the number")
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		if flags.pruneLimit >= 0 && !flags.prune {
			return console.Errorf(console.Usage, "--prune-limit needs --prune")
		}
		if flags.plan != "" && !wholePlan.MatchString(flags.plan) {
			return console.Errorf(console.Usage, "--plan needs all 32 hexadecimal digits of a plan, as `vigil plan` prints them behind --plan")
		}
		document, err := a.document(s.Console, flags.filesFlags)
		if err != nil {
			return err
		}
		return s.applyFiles(ctx, document, flags)
	})
	return cmd
}

// wholePlan is the form of a plan.
var wholePlan = regexp.MustCompile(`^[0-9a-f]{32}$`)

// applyFiles plans, asks and applies.
func (s *session) applyFiles(ctx context.Context, document *manifest.Document, flags applyFlags) error {
	made, body, err := s.apply(ctx, document, flags.missing(), true, flags.plan)
	if err != nil {
		return err
	}
	if len(made.changing()) > 0 { // without a change, it is still remembered that the files were applied
		if err := s.agree(made, document, flags, body); err != nil {
			return err
		}
	}
	done, body, err := s.apply(ctx, document, flags.missing(), false, made.Plan)
	if err != nil {
		return err
	}
	return s.printApplied(done, body)
}

// agree shows the plan and asks for a confirmation. Many deletions need their number.
func (s *session) agree(made plan, document *manifest.Document, flags applyFlags, body []byte) error {
	deletes := made.count(actionDelete)
	if flags.pruneLimit >= 0 && deletes > flags.pruneLimit {
		return console.Errorf(
			console.Usage,
			"nothing was changed: %s to delete, and --prune-limit is %d",
			counted(deletes, "object"),
			flags.pruneLimit,
		)
	}
	many := flags.pruneLimit < 0 && isMany(deletes, len(made.Actions))
	if !s.Interactive() && (many || !s.Yes && flags.plan == "") {
		return s.intended(made, body, many)
	}
	view := planView{plan: made, document: document, where: s.where(), arguments: flags.arguments()}
	for _, line := range view.lines() {
		s.Note("%s", line.Text)
	}
	switch {
	case many:
		return s.Expect(strconv.Itoa(deletes), "This deletes %s. Type their number to confirm: ", counted(deletes, "object"))
	case s.Yes || flags.plan != "":
		return nil
	}
	return s.Expect("y", "Apply this plan? [y/N] ")
}

// manyDeletes objects may be deleted after a plain yes, and a fifth of the project.
const (
	manyDeletes = 10
	manyShare   = 5
)

func isMany(deletes, all int) bool {
	return deletes > manyDeletes || deletes > 1 && deletes*manyShare > all
}

// intended prints the change that needs a confirmation, and returns the error that says so.
func (s *session) intended(made plan, body []byte, many bool) error {
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"confirmation_required": map[string]any{"action": "apply", "plan": envelope.Data}})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.Out, "%s\n", text); err != nil {
		return err
	}
	if many {
		return console.Errorf(console.Usage, "nothing was changed: %s to delete; confirm with --prune-limit %d",
			counted(made.count(actionDelete), "object"), made.count(actionDelete))
	}
	return console.Errorf(console.Usage, "nothing was changed: without a terminal to ask on, confirm with --yes or --plan %s", made.Plan)
}

// printApplied prints a line for each change.
func (s *session) printApplied(done plan, body []byte) error {
	words := map[string]string{
		actionCreate: "created", actionChange: "changed", actionRestore: "restored", actionDelete: "deleted", actionRelease: "released",
	}
	table := console.List{Columns: console.Columns("DONE", "KIND", "KEY", "ID", "NAME")}
	ids := []string{}
	if done.Applied {
		for _, action := range done.changing() {
			ids = append(ids, action.ID)
			table.Rows = append(table.Rows, []console.Cell{
				console.Word(words[action.Action]).Toned(tone(mark(action.Action))), console.Word(action.Kind), console.Word(action.Key),
				console.ID(action.ID), console.Text(action.Name),
			})
		}
	}
	if err := s.Print(console.Answer{Body: body, Names: ids, Parts: []console.Part{table}}); err != nil {
		return err
	}
	left := ""
	if n := done.count(actionLeave); n > 0 {
		left = fmt.Sprintf(" %s in no file any more; --prune deletes what is left over.", counted(n, "object"))
	}
	if len(done.changing()) == 0 {
		s.Note("Nothing to change: the server has what the files say.%s", left)
		return nil
	}
	s.Note("Plan %s is applied: %d created, %d changed, %d deleted.%s",
		shortPlan(done.Plan), done.count(actionCreate), done.count(actionChange, actionRestore), done.count(actionDelete), left)
	return nil
}
