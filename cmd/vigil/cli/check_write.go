// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// newCheck are the flags of `vigil check create`.
type newCheck struct {
	name, kind, interval, configFile string
	regions, config, labels          []string
	disabled, simultaneous           bool
	noEvidence                       bool
	retry                            string
	rules, channels                  []string
}

func (a *app) checkCreateCommand() *cobra.Command {
	var n newCheck
	cmd := &cobra.Command{
		Use:   "create [URL]",
		Short: "Create a check",
		Long: "Create a check. With a URL alone the type follows from its scheme, such as http, https, http3, tcp, wss, grpc,\n" +
			"ping, dns or ssl, and the name is the host.",
		Example: "  vigil check create https://shop.example/\n" +
			"  vigil check create https://shop.example/ --interval 30s --rule failure_threshold=2 --channel oncall\n" +
			"  vigil check create --name Database --type tcp --config host=db.example --config port=5432",
		Args: cobra.MaximumNArgs(1),
		RunE: a.does(func(ctx context.Context, s *session, args []string) error { return s.createCheck(ctx, n, args) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&n.name, "name", "", "`name` of the check (default: the host of the URL)")
	flags.StringVar(&n.kind, "type", "", "`type` of the check (default: the scheme of the URL)")
	flags.StringVar(&n.interval, "interval", "60s", "`duration` between two results of a region")
	flags.StringSliceVar(&n.regions, "region", nil, "`region` to check from; may be repeated (default: that of the server)")
	flags.BoolVar(&n.simultaneous, "simultaneous", false, "check from all regions at the same instants")
	flags.BoolVar(&n.noEvidence, "no-evidence", false, "do not keep what probes saw of the target when they fail")
	flags.StringArrayVar(&n.config, "config", nil, "member of the config, `key=value`; may be repeated")
	flags.StringVar(&n.configFile, "config-file", "", "`file` with the config as JSON or YAML; -: standard input")
	flags.StringVar(&n.retry, "retry", "", "try a failing probe again before the failure is stored, such as `attempts=2,delay=5s`;\n"+
		"on=network: failures of the network only")
	flags.StringArrayVar(&n.labels, "label", nil, "label, `key=value`; may be repeated")
	flags.BoolVar(&n.disabled, "disabled", false, "create it paused")
	flags.StringArrayVar(
		&n.rules,
		"rule",
		nil,
		"also create a rule with this `condition`, such as failure_threshold=2,recovery_threshold=3; may be repeated.\n"+
			"It notifies of openings and ends (notify_on: both), and of its beginning while another incident is open (notify_if_open: true)",
	)
	flags.StringArrayVar(&n.channels, "channel", nil, "`channel` that the rules notify; may be repeated")
	a.regionFlag(cmd)
	return cmd
}

func (s *session) createCheck(ctx context.Context, n newCheck, args []string) error {
	body, err := s.checkBody(ctx, &n, args)
	if err != nil {
		return err
	}
	if (len(n.channels) > 0) != (len(n.rules) > 0) {
		return console.Errorf(console.Usage, "--rule and --channel belong together, such as --rule failure_threshold=2 --channel oncall")
	}
	rules, err := s.ruleBodies(ctx, n.rules, n.channels)
	if err != nil {
		return err
	}
	response, err := s.api.CreateCheckWithBody(ctx, nil, "application/json", bytes.NewReader(body), once())
	answer, body, err := read[client.CheckAnswer](s, response, err)
	if err != nil {
		return err
	}
	made := answer.Data
	if err := s.Print(console.Answer{Body: body, Parts: []console.Part{
		console.List{Columns: checkColumns(), Rows: [][]console.Cell{checkRow(made)}},
	}}); err != nil {
		return err
	}
	s.noteWarnings(made.Warnings)
	for i, rule := range rules {
		response, err := s.api.CreateAlertRuleWithBody(ctx, made.Id, nil, "application/json", bytes.NewReader(rule), once())
		if _, _, err := read[client.AlertRuleAnswer](s, response, err); err != nil {
			return console.Errorf(console.CodeOf(err), "the check was created, the rule %q was not: %w", n.rules[i], err)
		}
	}
	return nil
}

// noteWarnings shows what may surprise of what was written: each warning once, with how many
// of several checks have it.
func (s *session) noteWarnings(of ...*[]string) {
	counts := make(map[string]int)
	var order []string
	for _, warnings := range of {
		if warnings == nil {
			continue
		}
		for _, warning := range *warnings {
			if counts[warning]++; counts[warning] == 1 {
				order = append(order, warning)
			}
		}
	}
	for _, warning := range order {
		more := ""
		if len(of) > 1 {
			more = fmt.Sprintf(" (%d of %d checks)", counts[warning], len(of))
		}
		s.Note("warning: %s%s", warning, more)
	}
}

// ruleBodies are the rules that are created with a check.
func (s *session) ruleBodies(ctx context.Context, conditions, channels []string) ([][]byte, error) {
	ids, err := s.channelIDs(ctx, channels)
	if err != nil {
		return nil, err
	}
	var bodies [][]byte
	for _, text := range conditions {
		condition, err := condition("--rule", text)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(map[string]any{
			"name": text, "condition": condition, "notify_on": "both", "notify_if_open": true, "notification_channel_ids": ids,
		})
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// channelIDs finds channels.
func (s *session) channelIDs(ctx context.Context, refs []string) ([]uuid.UUID, error) {
	ids := []uuid.UUID{}
	for _, ref := range refs {
		found, err := s.channel(ctx, ref)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found.ID)
	}
	return ids, nil
}

// checkBody is the request that creates a check.
func (s *session) checkBody(ctx context.Context, n *newCheck, args []string) ([]byte, error) {
	config := map[string]any{}
	if n.configFile != "" {
		var err error
		if config, err = object(s.Console, n.configFile); err != nil {
			return nil, err
		}
	}
	kind, name := n.kind, n.name
	if len(args) == 1 {
		fromKind, host, err := s.fromTarget(ctx, args[0], kind, config)
		if err != nil {
			return nil, err
		}
		kind, name = fromKind, cmp.Or(name, host)
	}
	for _, text := range n.config {
		if err := assign("--config", config, text); err != nil {
			return nil, err
		}
	}
	if kind == "" || name == "" {
		return nil, console.Errorf(console.Usage, "give a URL, or --type and --name with --config")
	}
	interval, err := seconds("--interval", n.interval)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"name": name, "type": kind, "interval_seconds": interval, "config": config}
	if len(n.regions) > 0 {
		body["regions"] = n.regions
	}
	if n.simultaneous {
		body["simultaneous_regions"] = true
	}
	if n.noEvidence {
		body["evidence"] = false
	}
	if n.disabled {
		body["enabled"] = false
	}
	if n.retry != "" {
		if body["retry"], err = retry("--retry", n.retry); err != nil {
			return nil, err
		}
	}
	given, err := labels(n.labels)
	if err != nil {
		return nil, err
	}
	if given != nil {
		body["labels"] = given
	}
	return json.Marshal(body)
}

// retry reads members of retry such as attempts=2,delay=5s.
func retry(flag, text string) (map[string]any, error) {
	read, err := condition(flag, text)
	if err != nil {
		return nil, err
	}
	given, ok := read["delay"]
	if !ok {
		return read, nil
	}
	delete(read, "delay")
	delay, err := duration(flag+" delay", fmt.Sprint(given))
	if err != nil {
		return nil, err
	}
	if delay%time.Second != 0 {
		return nil, console.Errorf(console.Usage, "%s: delay is %v; it must be whole seconds, such as 5s", flag, given)
	}
	read["delay_seconds"] = int64(delay / time.Second)
	return read, nil
}

// fromTarget reads a URL: the type by its scheme unless a kind is given, the name by its host, and
// what the config says of the target. What types there are says the server.
func (s *session) fromTarget(ctx context.Context, text, kind string, config map[string]any) (inferred, name string, err error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" {
		return "", "", console.Errorf(console.Usage, "%q is no URL; an example is https://shop.example/", text)
	}
	response, err := s.api.ListCheckTypes(ctx, &client.ListCheckTypesParams{Limit: new(int64(maxTypes))})
	types, _, err := read[client.CheckTypeInfoList](s, response, err)
	if err != nil {
		return "", "", err
	}
	found := client.TypeOfScheme(types.Data, cmp.Or(kind, parsed.Scheme))
	if found == nil || found.Target == nil {
		return "", "", console.Errorf(
			console.Usage, "no type follows from %q: the scheme must be one of %s, or give --type and --config", text, schemes(types.Data),
		)
	}
	maps.Copy(config, found.Locate(text, parsed))
	return found.Type, parsed.Hostname(), nil
}

// maxTypes bounds how many types of checks or channels are read.
const maxTypes = 100

// schemes lists the schemes of addresses from which a type follows.
func schemes(types []client.CheckTypeInfo) string {
	var names []string
	for i := range types {
		if types[i].Target == nil {
			continue
		}
		for _, name := range append([]string{types[i].Type}, types[i].Schemes...) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}
