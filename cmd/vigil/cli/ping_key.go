// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) pingKeyCommand() *cobra.Command {
	cmd := Group("ping-key", "Make, show, rotate and revoke the key with which jobs ping heartbeats by their slugs",
		a.pingKeyCreateCommand(), a.pingKeyShowCommand(), a.pingKeyRotateCommand(), a.pingKeyRevokeCommand())
	cmd.Long = cmd.Short + ".\n\n" +
		"An organization has at most one. It can ping and create heartbeats, and nothing else."
	cmd.Example = `  curl -fsS "https://vigil.example.com/p/$(vigil ping-key create)/nightly-backup?create=1"`
	return cmd
}

func (a *app) pingKeyCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create", Short: "Make the ping key and print it, alone", Args: cobra.NoArgs,
		Long: "Make the ping key of the organization and print it, alone, on standard output. `vigil ping-key show` shows it again.",
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		return s.printPingKey(s.api.CreatePingKey(ctx))
	})
	return cmd
}

// printPingKey prints a key, alone.
func (s *session) printPingKey(response *http.Response, err error) error {
	answer, body, err := read[client.PingKeyAnswer](s, response, err)
	if err != nil {
		return err
	}
	if s.Query == nil && (s.Format == console.Table || s.Format == console.Wide) {
		_, err := fmt.Fprintln(s.Out, answer.Data.PingKey)
		return err
	}
	return s.Print(console.Answer{Body: body})
}

func (a *app) pingKeyShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show", Short: "Show the ping key and the address that jobs ping with it", Args: cobra.NoArgs,
		Long: "Show the ping key of the organization and the address that jobs ping, to which they add / and the slug of a heartbeat.\n" +
			"The key of the context must have the scope write.",
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		response, err := s.api.GetPingKey(ctx)
		answer, body, err := read[client.PingKeyAnswer](s, response, err)
		if err != nil {
			return err
		}
		key := answer.Data
		return s.Print(console.Answer{Body: body, Parts: []console.Part{console.Fields{
			{Name: "id", Value: console.ID(key.Id.String())},
			{Name: "ping_key", Value: console.Word(key.PingKey)},
			{Name: "ping_url", Value: console.Word(key.PingUrl)},
			{Name: "created_at", Value: console.Time(&key.CreatedAt)},
			{Name: "rotated_at", Value: console.Time(&key.RotatedAt)},
		}}})
	})
	return cmd
}

func (a *app) pingKeyRotateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate", Short: "Replace the ping key and print the new one, alone", Args: cobra.NoArgs,
		Long: "Replace the ping key and print the new one, alone, on standard output. Pings with the replaced key are refused from then on,\n" +
			"so the jobs need the new one at once.",
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		key, err := s.pingKey(ctx)
		if err != nil {
			return err
		}
		object := console.Object{ID: key.Id.String(), Name: key.KeyPrefix}
		if err := s.Confirm(console.Change{Action: "rotate", Kind: "ping key", Objects: []console.Object{object}}); err != nil {
			return err
		}
		return s.printPingKey(s.api.RotatePingKey(ctx))
	})
	return cmd
}

func (a *app) pingKeyRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke", Short: "Revoke the ping key", Args: cobra.NoArgs,
		Long: "Revoke the ping key. Pings with it are refused from then on. The heartbeats stay, and so do their own addresses.",
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		key, err := s.pingKey(ctx)
		if err != nil {
			return err
		}
		return s.remove("revoke", "ping key", key.Id, key.KeyPrefix, func() (*http.Response, error) { return s.api.DeletePingKey(ctx) })
	})
	return cmd
}

// pingKey returns the ping key of the organization.
func (s *session) pingKey(ctx context.Context) (client.PingKey, error) {
	response, err := s.api.GetPingKey(ctx)
	answer, _, err := read[client.PingKeyAnswer](s, response, err)
	return answer.Data, err
}
