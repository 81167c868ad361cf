// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// recoverFlags say what is sent again.
type recoverFlags struct {
	since, until     string
	statuses, events []string
	show, cancel     string
	wait             bool
}

func (a *app) channelRecoverCommand() *cobra.Command {
	var f recoverFlags
	cmd := &cobra.Command{
		Use: "recover <channel>", Short: "Send again what a channel did not get",
		Long: "Send again what a channel did not get, at some messages a second and those of an incident in their order.\n" +
			"What has arrived meanwhile is skipped. The platform goes on by itself; with --wait the command ends with\n" +
			"the recovery, with exit code 3 when messages failed again or it was canceled.",
		Example: "  vigil channel recover oncall --since 12h --wait\n" +
			"  vigil channel recover oncall --since 2d --until 1d --status exhausted,canceled",
		Args: oneOf("a channel"), ValidArgsFunction: a.suggest(suggestChannels),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "", "what was to be sent in the last `duration`, such as 12h or 3d")
	flags.StringVar(&f.until, "until", "", "but not in the last `duration`, such as 1h")
	flags.StringSliceVar(&f.statuses, "status", nil, "`states` of the deliveries: exhausted, canceled, superseded (default: exhausted)")
	flags.StringSliceVar(&f.events, "event", nil, "`types` of the events, such as incident.triggered (default: all)")
	flags.BoolVar(&f.wait, "wait", false, "show how it goes, and end with it")
	flags.StringVar(&f.show, "show", "", "show the recovery with this `id` instead")
	flags.StringVar(&f.cancel, "cancel", "", "cancel the recovery with this `id` instead")
	cmd.MarkFlagsOneRequired("since", "show", "cancel")
	cmd.MarkFlagsMutuallyExclusive("since", "show", "cancel")
	complete(cmd, "status", func() []string { return []string{"exhausted", "canceled", "superseded"} })
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.channel(ctx, args[0])
		if err != nil {
			return err
		}
		answer, body, err := s.recovery(ctx, found.ID, &f)
		if err != nil {
			return err
		}
		for f.wait && answer.Data.State == client.RecoveryStateRunning {
			if err := sleep(ctx, recoveryPause); err != nil {
				return err
			}
			response, err := s.api.GetRecovery(ctx, found.ID, answer.Data.Id)
			if answer, body, err = read[client.RecoveryAnswer](s, response, err); err != nil {
				return err
			}
		}
		if err := s.printRecovery(answer.Data, body); err != nil {
			return err
		}
		if f.wait && (answer.Data.Failed > 0 || answer.Data.State == client.RecoveryStateCanceled) {
			return console.Silent(console.No)
		}
		return nil
	})
	return cmd
}

// recoveryPause is the pause between two looks at a recovery.
const recoveryPause = time.Second

// recovery begins, shows or cancels a recovery.
func (s *session) recovery(ctx context.Context, channel uuid.UUID, f *recoverFlags) (client.RecoveryAnswer, []byte, error) {
	if id := f.show + f.cancel; id != "" {
		known, err := uuid.Parse(id)
		if err != nil {
			return client.RecoveryAnswer{}, nil, console.Errorf(console.Usage, "%q is not the id of a recovery", id)
		}
		if f.show != "" {
			response, err := s.api.GetRecovery(ctx, channel, known)
			return read[client.RecoveryAnswer](s, response, err)
		}
		response, err := s.api.CancelRecovery(ctx, channel, known, nil, once())
		return read[client.RecoveryAnswer](s, response, err)
	}
	back, err := duration("--since", f.since)
	if err != nil {
		return client.RecoveryAnswer{}, nil, err
	}
	request := client.ChannelRecoveryRequest{Since: s.Now().Add(-back).UTC()}
	if f.until != "" {
		back, err := duration("--until", f.until)
		if err != nil {
			return client.RecoveryAnswer{}, nil, err
		}
		request.Until = new(s.Now().Add(-back).UTC())
	}
	request.Statuses = words[client.ChannelRecoveryRequestStatuses](f.statuses)
	request.EventTypes = words[client.ChannelRecoveryRequestEventTypes](f.events)
	response, err := s.api.RecoverNotificationChannel(ctx, channel, nil, request, once())
	return read[client.RecoveryAnswer](s, response, err)
}

// words returns texts as words of the API; nil without any.
func words[T ~string](texts []string) *[]T {
	if len(texts) == 0 {
		return nil
	}
	list := make([]T, len(texts))
	for i, text := range texts {
		list[i] = T(text)
	}
	return &list
}

func (s *session) printRecovery(r client.Recovery, body []byte) error {
	list := console.List{
		Columns: console.Columns("ID", "STATE", "TOTAL", "SENT", "SKIPPED", "FAILED", "STARTED", "FINISHED"),
		Rows: [][]console.Cell{{
			console.Word(r.Id.String()), health(string(r.State)), console.Number(r.Total), console.Number(r.Sent), console.Number(r.Skipped),
			console.Number(r.Failed), console.Time(&r.StartedAt), console.Time(r.FinishedAt),
		}},
	}
	return s.Print(console.Answer{Body: body, Names: []string{r.Id.String()}, Parts: []console.Part{list}})
}
