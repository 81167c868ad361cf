// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) channelRotateCommand() *cobra.Command {
	var overlap string
	var force bool
	cmd := &cobra.Command{
		Use: "rotate-secret <channel>", Short: "Give a webhook another secret, and print it",
		Long: "Make a new secret for a webhook channel and print it, alone, on standard output. It is shown only once.\n" +
			"Until the overlap ends, messages are signed by the replaced secret too, so that the receiver can be changed meanwhile.",
		Example: "  vigil channel rotate-secret oncall --overlap 2d",
		Args:    oneOf("a channel"), ValidArgsFunction: a.suggest(suggestChannels),
	}
	cmd.Flags().StringVar(&overlap, "overlap", "24h", "`duration` for which the replaced secret signs too, from 0s to 7d")
	cmd.Flags().BoolVar(&force, "force", false, "also while the overlap of the last rotation runs: the secret that it replaced ends now")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		lasts, err := duration("--overlap", overlap)
		if err != nil {
			return err
		}
		found, err := s.channel(ctx, args[0])
		if err != nil {
			return err
		}
		request := client.RotationRequest{OverlapSeconds: new(int64(lasts.Seconds())), Force: optional(force)}
		response, err := s.api.RotateNotificationChannelSecret(ctx, found.ID, nil, request, once())
		answer, body, err := read[client.RotatedChannelAnswer](s, response, err)
		if err != nil {
			return err
		}
		if s.Query == nil && (s.Format == console.Table || s.Format == console.Wide) {
			_, err := fmt.Fprintln(s.Out, answer.Data.Secret)
			return err
		}
		return s.Print(console.Answer{Body: body})
	})
	return cmd
}
