// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) locationCommand() *cobra.Command {
	return Group("location", "List, create and change locations, where your own agents probe",
		a.locationListCommand(), a.locationGetCommand(), a.locationCreateCommand(), a.locationUpdateCommand(), a.locationDeleteCommand(),
		a.locationRotateCommand())
}

func (s *session) locations(ctx context.Context, params *client.ListLocationsParams) fetchPage {
	return func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListLocations(ctx, params, page)
	}
}

// location finds a location by its ID, its key or its name.
func (s *session) location(ctx context.Context, ref string) (named, error) {
	return s.resolve("location", ref, func(query string) fetchPage {
		return s.locations(ctx, &client.ListLocationsParams{Query: optional(query)})
	})
}

func suggestLocations(ctx context.Context, s *session, typed string) ([]string, error) {
	all, err := list[client.Location](s, suggested, s.locations(ctx, &client.ListLocationsParams{Query: optional(typed)}))
	var words []string
	for i := range all.data {
		words = append(words, cobra.CompletionWithDesc(all.data[i].Key, all.data[i].Name))
	}
	return words, err
}

func locationColumns() []console.Column {
	return console.Columns("KEY", "NAME", "STATE", "AGENTS", "CHECKS", "CLOCK", "SINCE", "+ID", "+TOKEN", "+LABELS", "+CREATED")
}

func locationRow(l client.Location) []console.Cell {
	return []console.Cell{
		console.Word(l.Key),
		console.Text(l.Name),
		locationState(string(l.State)),
		console.Number(int64(len(l.Agents))),
		console.Number(l.Checks),
		clockOf(l.Agents),
		console.Time(
			l.SilentSince,
		),
		console.Word(l.Id.String()),
		console.Word(l.TokenPrefix),
		console.Text(labelText(l.Labels)),
		console.Time(&l.CreatedAt),
	}
}

// clockTolerance is from how many seconds on the clock of an agent is shown as wrong, as the agent says it is.
const clockTolerance = 5

// clockOf says by how much the clock of an agent is ahead that is wrong the most, and nothing while all are right.
func clockOf(agents []client.Agent) console.Cell {
	var worst float64
	for i := range agents {
		if ahead := agents[i].ClockDifferenceSeconds; math.Abs(ahead) > math.Abs(worst) {
			worst = ahead
		}
	}
	if math.Abs(worst) < clockTolerance {
		return console.Text("")
	}
	return console.Text(fmt.Sprintf("%+.0f s", worst))
}

// locationState colors the state of a location as a health.
func locationState(state string) console.Cell {
	if state == string(client.LocationStateNever) {
		return console.Word(state)
	}
	return health(state)
}

func (s *session) printLocation(answer client.LocationAnswer, body []byte, err error) error {
	if err != nil {
		return err
	}
	return s.Print(console.Answer{Body: body, Names: []string{answer.Data.Key}, Parts: []console.Part{
		console.List{Columns: locationColumns(), Rows: [][]console.Cell{locationRow(answer.Data)}},
	}})
}

func (a *app) locationListCommand() *cobra.Command {
	var limit int
	var pairs []string
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List locations, and whether an agent reports from them", Args: cobra.NoArgs,
	}
	cmd.Flags().StringArrayVar(&pairs, "label", nil, "only those with a label, `key=value` or key; may be repeated")
	limitFlag(cmd, &limit, unlimited)
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		params := &client.ListLocationsParams{}
		if len(pairs) > 0 {
			params.Label = &pairs
		}
		all, err := list[client.Location](s, limit, s.locations(ctx, params))
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: locationColumns(), Empty: "No locations."}, locationRow)
	})
	return cmd
}

func (a *app) locationGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <location>", Short: "Show a location and its agents, by its key, name or ID", Args: oneOf("a location"),
		ValidArgsFunction: a.suggest(suggestLocations),
	}
	a.watched(cmd, func(ctx context.Context, s *session, args []string) error {
		found, err := s.location(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetLocation(ctx, found.ID, nil)
		answer, body, err := read[client.LocationAnswer](s, response, err)
		if err != nil {
			return err
		}
		agents := console.List{
			Columns: console.Columns("AGENT", "VERSION", "SEEN", "CHECKS", "CLOCK", "SPOOLED", "DROPPED", "+STARTED", "+SPOOL BYTES", "+TYPES"),
			Empty:   "No agent reports from it.",
		}
		for _, agent := range answer.Data.Agents {
			agents.Rows = append(agents.Rows, []console.Cell{
				console.Text(agent.Name), console.Word(agent.Version), console.Time(&agent.SeenAt), console.Number(agent.Checks),
				console.Word(fmt.Sprintf("%+.1fs", agent.ClockDifferenceSeconds)), console.Number(agent.Spool.Results),
				console.Number(agent.Spool.Dropped), console.Time(&agent.StartedAt), console.Number(agent.Spool.Bytes),
				console.Word(strings.Join(agent.Types, ",")),
			})
		}
		return s.Print(console.Answer{Body: body, Names: []string{answer.Data.Key}, Parts: []console.Part{
			fieldsOf(locationColumns(), locationRow(answer.Data)), agents,
		}})
	})
	return cmd
}

func (a *app) locationCreateCommand() *cobra.Command {
	var key, file string
	var pairs []string
	cmd := &cobra.Command{
		Use: "create <name>", Short: "Create a location, and print the token of its agents",
		Long: "Create a location and print the token with which its agents connect, alone, on standard output. It is shown only once;\n" +
			"with --token-file it is written to a file that only you can read, and not printed.",
		Example: "  vigil location create Office --label site=berlin --token-file office.token",
		Args:    oneOf("a name"),
	}
	cmd.Flags().StringVar(&key, "key", "", "`key` that checks name in regions (default: loc- and the words of the name)")
	cmd.Flags().StringArrayVar(&pairs, "label", nil, "label, `key=value`; may be repeated")
	tokenFlag(cmd, &file)
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		read, err := labels(pairs)
		if err != nil {
			return err
		}
		request := client.LocationCreate{Name: args[0], Key: optional(key)}
		if read != nil {
			request.Labels = &read
		}
		return s.printToken(file, func() (*http.Response, error) { return s.api.CreateLocation(ctx, nil, request, once()) })
	})
	return cmd
}

func tokenFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "token-file", "", "write the token to a `file` of mode 0600 instead of printing it")
}

// printToken sends a request whose answer is a location with its token, and prints the token, or writes
// it to a file. The file is opened first: a token that cannot be kept is not made.
func (s *session) printToken(path string, send func() (*http.Response, error)) (err error) {
	var file *os.File
	if path != "" {
		_, before := os.Lstat(path)
		if file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600); err != nil { //nolint:gosec // the user names the file
			return console.Errorf(console.Usage, "--token-file: %v", err)
		}
		defer func() {
			err = errors.Join(err, file.Close())
			if err != nil && errors.Is(before, os.ErrNotExist) {
				_ = os.Remove(path) // it has no token
			}
		}()
	}
	response, err := send()
	answer, body, err := read[client.NewLocationAnswer](s, response, err)
	if err != nil {
		return err
	}
	if file == nil {
		if s.Query == nil && (s.Format == console.Table || s.Format == console.Wide) {
			_, err := fmt.Fprintln(s.Out, answer.Data.Token)
			return err
		}
		return s.Print(console.Answer{Body: body})
	}
	if err := writeToken(file, answer.Data.Token); err != nil {
		return console.Errorf(console.Usage, "--token-file: %v; give the location another token with: vigil location rotate-token %s",
			err, answer.Data.Key)
	}
	var shown struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal(body, &shown); err != nil {
		return err
	}
	delete(shown.Data, "token")
	if body, err = json.Marshal(shown); err != nil {
		return err
	}
	var made client.LocationAnswer
	if err := json.Unmarshal(body, &made); err != nil {
		return err
	}
	return s.printLocation(made, body, nil)
}

// writeToken replaces what a file has with a token, which only its owner may read.
func writeToken(file *os.File, token string) error {
	if err := file.Chmod(0o600); err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := io.WriteString(file, token+"\n")
	return err
}

func (a *app) locationUpdateCommand() *cobra.Command {
	var name string
	var pairs []string
	cmd := &cobra.Command{
		Use: "update <location>", Short: "Change the name or the labels of a location", Args: oneOf("a location"),
		Long:              "Change the name or the labels of a location. Its key never changes, since checks name it.",
		Example:           "  vigil location update loc-office --name 'Office, 2nd floor' --label site=berlin",
		ValidArgsFunction: a.suggest(suggestLocations),
	}
	cmd.Flags().StringVar(&name, "name", "", "another `name`")
	cmd.Flags().StringArrayVar(&pairs, "label", nil, "label, `key=value`, in the place of all that it has; may be repeated")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		read, err := labels(pairs)
		if err != nil {
			return err
		}
		if name == "" && read == nil {
			return console.Errorf(console.Usage, "give --name or --label")
		}
		found, err := s.location(ctx, args[0])
		if err != nil {
			return err
		}
		request := client.LocationUpdate{Name: optional(name)}
		if read != nil {
			request.Labels = &read
		}
		response, err := s.api.UpdateLocation(ctx, found.ID, nil, request)
		return s.printLocation(readLocation(s, response, err))
	})
	return cmd
}

func readLocation(s *session, response *http.Response, err error) (client.LocationAnswer, []byte, error) {
	return read[client.LocationAnswer](s, response, err)
}

func (a *app) locationDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete <location>", Short: "Delete a location that no check names", Args: oneOf("a location"),
		ValidArgsFunction: a.suggest(suggestLocations),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.location(ctx, args[0])
		if err != nil {
			return err
		}
		return s.remove("delete", "location", found.ID, found.label(), func() (*http.Response, error) {
			return s.api.DeleteLocation(ctx, found.ID, nil)
		})
	})
	return cmd
}

func (a *app) locationRotateCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "rotate-token <location>", Short: "Give a location another token, and print it",
		Long: "Make a new token for the agents of a location and print it, alone, on standard output. It is shown only once. The token\n" +
			"before is not accepted any more within 5 seconds: its agents are cut off until they have the new one.",
		Example: "  vigil location rotate-token loc-office --token-file office.token",
		Args:    oneOf("a location"), ValidArgsFunction: a.suggest(suggestLocations),
	}
	tokenFlag(cmd, &file)
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.location(ctx, args[0])
		if err != nil {
			return err
		}
		return s.printToken(file, func() (*http.Response, error) { return s.api.RotateLocationToken(ctx, found.ID) })
	})
	return cmd
}
