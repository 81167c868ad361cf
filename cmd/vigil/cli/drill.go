// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) drillCommand() *cobra.Command {
	return Group("drill", "Prove that alerts arrive, and read the receipts",
		a.drillRunCommand(), a.drillListCommand(), a.drillGetCommand(), a.drillCancelCommand(), a.drillScheduleCommand())
}

func (s *session) drills(ctx context.Context, params client.ListDrillsParams) fetchPage {
	return func(page client.RequestEditorFn) (*http.Response, error) { return s.api.ListDrills(ctx, &params, page) }
}

// drill finds a drill by its ID.
func (s *session) drill(ctx context.Context, ref string) (named, error) {
	return s.resolve("drill", ref, func(string) fetchPage { return s.drills(ctx, client.ListDrillsParams{}) })
}

func suggestDrills(ctx context.Context, s *session, _ string) ([]string, error) {
	all, err := list[client.Drill](s, suggested, s.drills(ctx, client.ListDrillsParams{}))
	ids := make([]string, len(all.data))
	for i, drill := range all.data {
		ids[i] = drill.Id.String()
	}
	return ids, err
}

func drillColumns() []console.Column {
	return console.Columns("ID", "STATE", "VERDICT", "CHANNELS", "REGIONS", "ASKED", "ENDED", "+BY", "+WORKFLOW")
}

func drillRow(d client.Drill) []console.Cell {
	channels := make([]string, len(d.Channels))
	for i, channel := range d.Channels {
		channels[i] = channel.Name
	}
	return []console.Cell{
		console.ID(d.Id.String()), console.Word(string(d.State)), verdict(string(value(d.Verdict))), console.Text(strings.Join(channels, ", ")),
		console.Text(strings.Join(d.Regions, ", ")), console.Time(&d.AskedAt), console.Time(d.ClosedAt), console.Text(value(d.RequestedBy)),
		console.Word(d.WorkflowId),
	}
}

func verdict(text string) console.Cell {
	tones := map[string]console.Tone{"passed": console.Good, "failed": console.Bad, "canceled": console.Faint}
	return console.Word(text).Toned(tones[text])
}

// lastDrill shows how the last drill of a channel or a schedule ended, and when; nil: none has.
func lastDrill(last *client.LastDrill) (result, ended console.Cell) {
	if last == nil {
		return console.Word(""), console.Time(nil)
	}
	return verdict(string(last.Verdict)), console.Time(&last.At)
}

func (a *app) drillListCommand() *cobra.Command {
	var limit int
	var result string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List drills, the newest first", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&result, "verdict", "", "only those that ended so: passed, failed or canceled")
	limitFlag(cmd, &limit, recent)
	complete(cmd, "verdict", func() []string { return []string{"passed", "failed", "canceled"} })
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		all, err := list[client.Drill](
			s,
			limit,
			s.drills(ctx, client.ListDrillsParams{Verdict: optional(client.ListDrillsParamsVerdict(result))}),
		)
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: drillColumns(), Empty: "No drills."}, drillRow)
	})
	return cmd
}

func (a *app) drillGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <drill>", Short: "Show a drill with its receipt", Args: oneOf("a drill"), ValidArgsFunction: a.suggest(suggestDrills),
	}
	a.watched(cmd, func(ctx context.Context, s *session, args []string) error {
		found, err := s.drill(ctx, args[0])
		if err != nil {
			return err
		}
		answer, body, err := s.readDrill(ctx, found.ID)
		if err != nil {
			return err
		}
		return s.printDrill(answer.Data, body)
	})
	return cmd
}

func (s *session) readDrill(ctx context.Context, id uuid.UUID) (client.DrillAnswer, []byte, error) {
	response, err := s.api.GetDrill(ctx, id)
	return read[client.DrillAnswer](s, response, err)
}

// printDrill shows a drill, and what its receipt says.
func (s *session) printDrill(drill client.Drill, body []byte) error {
	fields := fieldsOf(drillColumns(), drillRow(drill))
	fields[0].Value = console.Word(drill.Id.String())
	parts := []console.Part{fields}
	if r := drill.Receipt; r != nil {
		hops := console.List{Title: "Hops", Columns: console.Columns("HOP", "AT", "MS SINCE PREVIOUS"), Empty: "None."}
		for _, hop := range r.Hops {
			hops.Rows = append(hops.Rows, []console.Cell{
				console.Word(string(hop.Name)), console.Word(hop.At.UTC().Format(time.RFC3339Nano)), console.Number(hop.MsSincePrevious),
			})
		}
		parts = append(parts, hops)
		if len(r.Failures) > 0 {
			failures := console.List{Title: "Missing or late", Columns: console.Columns("HOP", "WHERE", "REASON")}
			for _, f := range r.Failures {
				failures.Rows = append(failures.Rows, []console.Cell{
					console.Word(string(f.Hop)).Toned(console.Bad), console.Text(failurePlace(r, f)), console.Text(f.Reason),
				})
			}
			parts = append(parts, failures)
		}
	}
	return s.Print(console.Answer{Body: body, Parts: parts})
}

// failurePlace names the region or the channel of a failure.
func failurePlace(r *client.DrillReceipt, f client.DrillFailure) string {
	if f.ChannelId != nil {
		if i := slices.IndexFunc(r.Channels, func(c client.DrillDelivered) bool { return c.Id == *f.ChannelId }); i >= 0 {
			return r.Channels[i].Name
		}
		return f.ChannelId.String()
	}
	return value(f.Region)
}

func (a *app) drillCancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel <drill>", Short: "Cancel a drill that runs", Args: oneOf("a drill"), ValidArgsFunction: a.suggest(suggestDrills),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.drill(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.CancelDrill(ctx, found.ID)
		answer, body, err := read[client.DrillAnswer](s, response, err)
		if err != nil {
			return err
		}
		return s.printDrill(answer.Data, body)
	})
	return cmd
}

// drillFlags are what a drill is asked for.
type drillFlags struct {
	channels, rules, subscriptions, regions []string
	check, severity                         string
	within                                  time.Duration
	pager, detach                           bool
}

// drillPoll is how often the command looks whether a drill has ended.
const drillPoll = time.Second

func (a *app) drillRunCommand() *cobra.Command {
	var f drillFlags
	cmd := &cobra.Command{
		Use: "run", Short: "Run a drill and wait for its receipt", Args: cobra.NoArgs,
		Long: "Makes a check of the drill's own fail and be healthy again, and shows by what hops the messages reached the channels. " +
			"Every message says that it is a drill. The exit code is 3 when the drill did not pass.",
		Example: "  vigil drill run --channel \"On call\"\n  vigil drill run --check \"Checkout API\" --within 1m",
	}
	f.subject(a, cmd)
	cmd.Flags().StringVar(&f.check, "check", "", "try the enabled rules of this `check`")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "do not wait for the receipt")
	_ = cmd.RegisterFlagCompletionFunc("check", a.suggest(suggestChecks))
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		body, err := f.body(ctx, s, "--channel, --rule, --subscription or --check")
		if err != nil {
			return err
		}
		response, err := s.api.CreateDrill(ctx, nil, body, once())
		answer, text, err := read[client.DrillAnswer](s, response, err)
		if err != nil {
			return err
		}
		for !f.detach && answer.Data.Receipt == nil {
			if err := sleep(ctx, drillPoll); err != nil {
				return err
			}
			if answer, text, err = s.readDrill(ctx, answer.Data.Id); err != nil {
				return err
			}
		}
		if err := s.printDrill(answer.Data, text); err != nil {
			return err
		}
		if !f.detach && value(answer.Data.Verdict) != "passed" {
			return console.Silent(console.No)
		}
		return nil
	})
	return cmd
}

// subject adds the flags that a drill and a schedule of drills have in common.
func (f *drillFlags) subject(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.channels, "channel", nil, "notify this `channel`; may be repeated")
	flags.StringArrayVar(&f.rules, "rule", nil, "try this alert `rule`; may be repeated")
	flags.StringArrayVar(&f.subscriptions, "subscription", nil, "notify the channel of this `subscription`; may be repeated")
	flags.StringSliceVar(&f.regions, "region", nil, "run in these `regions`, with commas")
	flags.StringVar(&f.severity, "severity", "", "severity of the incident: critical, warning or info (the default)")
	flags.DurationVar(&f.within, "within", 0, "how long each way to every channel may take; 2m without it")
	flags.BoolVar(&f.pager, "confirm-pager", false, "notify pagers, too: this wakes people")
	complete(cmd, "severity", func() []string { return []string{"critical", "warning", "info"} })
	a.regionFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("channel", a.suggest(suggestChannels))
	_ = cmd.RegisterFlagCompletionFunc("rule", a.suggest(suggestRules))
	_ = cmd.RegisterFlagCompletionFunc("subscription", a.suggest(suggestSubscriptions))
}

// body returns the request that the flags ask for. ways are the flags that say what is tried.
func (f *drillFlags) body(ctx context.Context, s *session, ways string) (client.DrillRequest, error) {
	var body client.DrillRequest
	if f.check == "" && len(f.channels) == 0 && len(f.rules) == 0 && len(f.subscriptions) == 0 {
		return body, console.Errorf(console.Usage, "say what is tried, by %s", ways)
	}
	if f.within%time.Second != 0 {
		return body, console.Errorf(console.Usage, "--within is %s; it must be whole seconds, such as 90s", f.within)
	}
	find := func(refs []string, resolve func(string) (named, error)) (*[]string, error) {
		if len(refs) == 0 {
			return nil, nil //nolint:nilnil // left out of the request
		}
		ids := make([]string, len(refs))
		for i, ref := range refs {
			found, err := resolve(ref)
			if err != nil {
				return nil, err
			}
			ids[i] = found.ID.String()
		}
		return &ids, nil
	}
	var err error
	if body.ChannelIds, err = find(f.channels, func(ref string) (named, error) { return s.channel(ctx, ref) }); err != nil {
		return body, err
	}
	if body.RuleIds, err = find(f.rules, func(ref string) (named, error) { return s.rule(ctx, ref, nil) }); err != nil {
		return body, err
	}
	body.SubscriptionIds, err = find(f.subscriptions, func(ref string) (named, error) { return s.subscription(ctx, ref) })
	if err != nil {
		return body, err
	}
	if f.check != "" {
		found, err := s.check(ctx, f.check)
		if err != nil {
			return body, err
		}
		body.CheckId = &found.ID
	}
	if len(f.regions) > 0 {
		body.Regions = &f.regions
	}
	body.Severity, body.ConfirmPager = optional(client.DrillRequestSeverity(f.severity)), optional(f.pager)
	body.ExpectWithinSeconds = optional(int64(f.within / time.Second))
	return body, nil
}
