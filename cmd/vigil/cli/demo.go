// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"

	"github.com/vigil-monitor/vigil/internal/instance"
)

const (
	// demoProject is the project of the definitions of `vigil up --demo`.
	demoProject = "demo"
	// demoHeader must be in a command to the demo.
	demoHeader  = "Vigil-Demo"
	demoTimeout = 5 * time.Second
)

func (a *app) demoCommand() *cobra.Command {
	var dir string
	cmd := Group("demo", "Break, repair or remove the demo of vigil up --demo",
		a.demoCommandOf(&dir, "break", "Break the shop: it answers 503 until it is repaired"),
		a.demoCommandOf(&dir, "repair", "Repair the shop: it answers 200 again"),
		a.demoRemoveCommand(&dir),
	)
	cmd.PersistentFlags().
		StringVar(&dir, "data-dir", "", "`directory` of the instance that plays the demo (default: that of the context, else "+
			"that of this user)")
	return cmd
}

func (a *app) demoCommandOf(dir *string, name, short string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			con, err := a.console(cmd)
			if err != nil {
				return err
			}
			found, err := a.demoInstance(con, *dir)
			if err != nil {
				return err
			}
			if err := command(cmd.Context(), found.DemoURL, name); err != nil {
				return err
			}
			if name == "break" {
				con.Note("The shop at %s answers 503 now. `vigil demo repair` repairs it.", found.DemoURL)
			} else {
				con.Note("The shop at %s answers 200 again.", found.DemoURL)
			}
			return nil
		},
	}
}

func (a *app) demoRemoveCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "remove", Short: "Delete the demo's check, rule and channel, and end the demo",
		Long: "Delete the demo's check, rule and channel with their incidents and deliveries, and end the demo. Vigil goes on\n" +
			"without it; the next `vigil up --demo` begins again.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.session(cmd)
			if err != nil {
				return err
			}
			removed, err := s.removeDemo(cmd.Context())
			if err != nil {
				return err
			}
			found, err := a.demoInstance(s.Console, *dir)
			if err == nil {
				err = command(cmd.Context(), found.DemoURL, "remove")
			}
			switch {
			case console.CodeOf(err) == console.Unreachable: // no demo is played
			case err != nil:
				return err
			}
			if removed == 0 {
				s.Note("There is nothing of the demo.")
				return nil
			}
			s.Note("The demo is removed: %d objects of the project %s.", removed, demoProject)
			return nil
		},
	}
}

// removeDemo deletes everything of the demo's project, and returns how many objects that was.
func (s *session) removeDemo(ctx context.Context) (removed int, err error) {
	body := fmt.Sprintf(`{"project":%q,"missing":"delete","document":{"version":1}}`, demoProject)
	response, err := s.send(ctx, http.MethodPost, "/v1/apply", json.RawMessage(body))
	done, _, err := read[struct {
		Data struct {
			Actions []struct {
				ID     uuid.UUID `json:"id"`
				Action string    `json:"action"`
			} `json:"actions"`
		} `json:"data"`
	}](s, response, err)
	for _, one := range done.Data.Actions {
		if one.Action == "delete" {
			removed++
		}
	}
	return removed, err
}

// demoInstance finds the instance that plays the demo: that of a directory, else of the
// context, else of this user.
func (a *app) demoInstance(con *console.Console, dir string) (instance.Instance, error) {
	if dir == "" {
		dir = a.host.DataDir
		contexts, err := console.ReadContexts(configPath(), con.Warn)
		if err != nil {
			return instance.Instance{}, err
		}
		name := a.flags.context
		if name == "" {
			name = contexts.Current
		}
		if of := contexts.Contexts[name].DataDir; of != "" {
			dir = of
		}
	}
	found, err := instance.Running(dir)
	if err != nil {
		return instance.Instance{}, console.Errorf(
			console.Unreachable,
			"no instance runs with the data directory %s: start `vigil up --demo`",
			dir,
		)
	}
	if found.DemoURL == "" {
		return instance.Instance{}, console.Errorf(console.Unreachable, "the instance of %s plays no demo: start it with `vigil up --demo`", dir)
	}
	if found.DemoURL, err = console.ServerURL(found.DemoURL, instance.File); err != nil {
		return instance.Instance{}, err
	}
	return found, nil
}

// command sends a command to the demo.
func command(ctx context.Context, demo, name string) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, demo+"/"+name, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set(demoHeader, name)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return console.Errorf(console.Unreachable, "the demo at %s does not answer: %s", demo, reason(err))
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusNoContent:
		return nil
	case http.StatusGone:
		return console.Errorf(console.Unreachable, "the demo has ended: start it again with `vigil up --demo`")
	}
	return console.Errorf(console.Failed, "the demo at %s answers with status %d", demo, response.StatusCode)
}
