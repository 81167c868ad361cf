// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// pageCommand is a command about one status page.
func (a *app) pageCommand(cmd *cobra.Command, run func(ctx context.Context, s *session, page uuid.UUID) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = oneOf("a status page"), a.suggest(suggestPages)
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.statusPage(ctx, args[0])
		if err != nil {
			return err
		}
		return run(ctx, s, found.ID)
	})
	return cmd
}

func jsonBody(member, value string) (*bytes.Reader, error) {
	text, err := json.Marshal(map[string]string{member: value})
	return bytes.NewReader(text), err
}

func (a *app) pagePasswordCommand() *cobra.Command {
	var file string
	var remove bool
	cmd := &cobra.Command{
		Use: "password <page>", Short: "Set the password that readers of a status page need, or remove it",
		Example: "  vigil status-page password shop --file password.txt\n  vigil status-page password shop --remove",
	}
	cmd.Flags().StringVar(&file, "file", "", "`file` with the password in its first line")
	cmd.Flags().BoolVar(&remove, "remove", false, "open the page to everybody")
	return a.pageCommand(cmd, func(ctx context.Context, s *session, page uuid.UUID) error {
		if remove == (file != "") {
			return errors.New("give --file or --remove, one of the two")
		}
		if remove {
			response, err := s.api.DeleteStatusPagePassword(ctx, page)
			_, err = s.body(response, err)
			return err
		}
		text, err := os.ReadFile(file) //nolint:gosec // the caller's own file
		if err != nil {
			return fmt.Errorf("read the password: %w", err)
		}
		password, _, _ := strings.Cut(string(text), "\n")
		body, err := jsonBody("password", strings.TrimSuffix(password, "\r"))
		if err != nil {
			return err
		}
		response, err := s.api.SetStatusPagePasswordWithBody(ctx, page, "application/json", body)
		return s.printPage(read[client.StatusPageAnswer](s, response, err))
	})
}

func (a *app) pageLogoCommand() *cobra.Command {
	var file string
	var remove bool
	cmd := &cobra.Command{
		Use: "logo <page>", Short: "Set the logo of a status page, or remove it",
		Example: "  vigil status-page logo shop --file logo.png",
	}
	cmd.Flags().StringVar(&file, "file", "", "PNG or JPEG `file` of at most 256 KiB")
	cmd.Flags().BoolVar(&remove, "remove", false, "show the first letter of the title instead")
	return a.pageCommand(cmd, func(ctx context.Context, s *session, page uuid.UUID) error {
		if remove == (file != "") {
			return errors.New("give --file or --remove, one of the two")
		}
		if remove {
			response, err := s.api.DeleteStatusPageLogo(ctx, page)
			_, err = s.body(response, err)
			return err
		}
		picture, err := os.ReadFile(file) //nolint:gosec // the caller's own file
		if err != nil {
			return fmt.Errorf("read the logo: %w", err)
		}
		body, err := jsonBody("image", base64.StdEncoding.EncodeToString(picture))
		if err != nil {
			return err
		}
		response, err := s.api.SetStatusPageLogoWithBody(ctx, page, "application/json", body)
		return s.printPage(read[client.StatusPageAnswer](s, response, err))
	})
}

func (a *app) pageHostCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "verify-host <page>", Short: "Serve a status page at its host, once a TXT record shows that it may"}
	return a.pageCommand(cmd, func(ctx context.Context, s *session, page uuid.UUID) error {
		response, err := s.api.VerifyStatusPageHost(ctx, page)
		return s.printPage(read[client.StatusPageAnswer](s, response, err))
	})
}

func (a *app) pageSubscribersCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "subscribers <page>", Short: "List who gets the messages of a status page"}
	return a.pageCommand(cmd, func(ctx context.Context, s *session, page uuid.UUID) error {
		all, err := list[client.Subscriber](s, unlimited, func(of client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListStatusPageSubscribers(ctx, page, nil, of)
		})
		if err != nil {
			return err
		}
		columns := console.Columns("ID", "TYPE", "ADDRESS", "CONFIRMED")
		return show(s, all, console.List{Columns: columns, Empty: "No subscribers of the page yet."}, func(one client.Subscriber) []console.Cell {
			return []console.Cell{
				console.ID(one.Id.String()), console.Word(string(one.Type)), console.Text(one.Address), console.Time(&one.ConfirmedAt),
			}
		})
	})
}

func (a *app) pageUnsubscribeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "unsubscribe <page> <subscriber-id>", Short: "Remove a subscriber of a status page, with the address", Args: cobra.ExactArgs(2),
		ValidArgsFunction: a.suggest(suggestPages),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.statusPage(ctx, args[0])
		if err != nil {
			return err
		}
		id, err := uuid.Parse(args[1])
		if err != nil {
			return fmt.Errorf("%q is not the ID of a subscriber; vigil status-page subscribers %s lists them", args[1], args[0])
		}
		return s.remove("remove", "subscriber", id, id.String(), func() (*http.Response, error) {
			return s.api.DeleteStatusPageSubscriber(ctx, found.ID, id)
		})
	})
	return cmd
}
