// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// newChannel are the flags of `vigil channel create`.
type newChannel struct {
	name, configFile, secretVariable, secretFile, fallback string
	config, labels                                         []string
	disabled                                               bool
}

// channelMembers are the members of a config that the words of `vigil channel create` and
// --secret-from-env set, by type, and by type and format where they are others.
func channelMembers() map[string]struct{ target, secret string } {
	return map[string]struct{ target, secret string }{
		"chat/telegram":       {"chat_id", "token"},
		"chat/matrix":         {"room_id", "token"},
		"chat/zulip":          {"stream", "token"},
		"push/gotify":         {"server", "token"},
		"push/pushover":       {"", "token"},
		"pager/opsgenie":      {"url", "api_key"},
		"pager/jsm":           {"url", "api_key"},
		"pager/incident_io":   {"url", "api_key"},
		"pager/alertmanager":  {"url", "api_key"},
		"pager/splunk_oncall": {"", "api_key"},

		"webhook": {"url", "secret"},
		"chat":    {"webhook_url", "webhook_url"},
		"email":   {"to", ""},
		"push":    {"topic", "password"},
		"pager":   {"", "routing_key"},
	}
}

func (a *app) channelCreateCommand() *cobra.Command {
	var n newChannel
	cmd := &cobra.Command{
		Use:   "create <type> [URL, address or topic]",
		Short: "Create a channel",
		Example: "  vigil channel create webhook https://hooks.example/x --secret-from-env HOOK_SECRET --name oncall\n" +
			"  vigil channel create email ada@example.com,bob@example.com --name team\n" +
			"  vigil channel create push vigil-alerts --config server=https://ntfy.sh\n" +
			"  vigil channel create pager --secret-from-env ROUTING_KEY --name pager\n" +
			"  vigil channel create chat @ourteam --config format=telegram --secret-from-env BOT_TOKEN --name team",
		Args: cobra.RangeArgs(1, 2),
		RunE: a.does(func(ctx context.Context, s *session, args []string) error {
			if n.fallback != "" {
				found, err := s.channel(ctx, n.fallback)
				if err != nil {
					return err
				}
				n.fallback = found.ID.String()
			}
			body, err := n.body(s.Console, args)
			if err != nil {
				return err
			}
			response, err := s.api.CreateNotificationChannelWithBody(ctx, nil, "application/json", bytes.NewReader(body), once())
			return s.printChannel(read[client.NotificationChannelAnswer](s, response, err))
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&n.name, "name", "", "`name` of the channel (default: its type and target)")
	flags.StringArrayVar(&n.config, "config", nil, "member of the config, `key=value`; may be repeated")
	flags.StringVar(&n.configFile, "config-file", "", "`file` with the config as JSON or YAML; -: standard input")
	flags.StringVar(&n.secretVariable, "secret-from-env", "", "environment `variable` with the secret: of a webhook, the URL of a chat, "+
		"the password of push, the routing key of a pager, the token or API key of a format")
	flags.StringVar(&n.secretFile, "secret-from-file", "", "`file` with the secret; -: standard input")
	flags.StringArrayVar(&n.labels, "label", nil, "label, `key=value`; may be repeated")
	flags.StringVar(&n.fallback, "fallback", "", "`channel` that gets what this one cannot deliver")
	flags.BoolVar(&n.disabled, "disabled", false, "create it disabled")
	return cmd
}

func (n *newChannel) body(con *console.Console, args []string) ([]byte, error) {
	kind := args[0]
	members, formatted := channelMembers()[kind+"/"+n.format()]
	if !formatted {
		members = channelMembers()[kind]
	}
	config := map[string]any{}
	var err error
	if n.configFile != "" {
		if config, err = object(con, n.configFile); err != nil {
			return nil, err
		}
	}
	name := n.name
	if len(args) == 2 {
		if members.target == "" {
			return nil, console.Errorf(console.Usage, "a channel of the type %s takes no address; give --config", kind)
		}
		config[members.target] = args[1]
		if members.target == "to" {
			config["to"] = strings.Split(args[1], ",")
		}
	}
	if err := n.secret(con, kind, members.secret, config); err != nil {
		return nil, err
	}
	for _, text := range n.config {
		if err := assign("--config", config, text); err != nil {
			return nil, err
		}
	}
	if name == "" {
		name = channelName(kind, args[1:])
	}
	body := map[string]any{"name": name, "type": kind, "config": config}
	if n.disabled {
		body["enabled"] = false
	}
	if n.fallback != "" {
		body["fallback_channel_id"] = n.fallback
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

// format is the one that --config gives; empty: none.
func (n *newChannel) format() string {
	for _, text := range n.config {
		if format, ok := strings.CutPrefix(text, "format="); ok {
			return format
		}
	}
	return ""
}

// secret sets the secret of the config from a variable or a file.
func (n *newChannel) secret(con *console.Console, kind, member string, config map[string]any) error {
	if n.secretVariable == "" && n.secretFile == "" {
		return nil
	}
	if member == "" || n.secretVariable != "" && n.secretFile != "" {
		return console.Errorf(
			console.Usage, "a channel of the type %s takes its secret from one of --secret-from-env and --secret-from-file, if any", kind,
		)
	}
	text := os.Getenv(n.secretVariable)
	if n.secretFile != "" {
		read, err := input(con, n.secretFile)
		if err != nil {
			return err
		}
		text = string(read)
	}
	if text = strings.TrimSpace(text); text == "" {
		return console.Errorf(console.Usage, "the secret is empty: set %s%s", n.secretVariable, n.secretFile)
	}
	config[member] = text
	return nil
}

// channelName names a channel by its type and the host of its URL: a path may be secret.
func channelName(kind string, target []string) string {
	if len(target) == 0 {
		return kind
	}
	if parsed, err := url.Parse(target[0]); err == nil && parsed.Host != "" {
		return kind + " " + parsed.Hostname()
	}
	return kind + " " + target[0]
}

func (a *app) channelEditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit <channel>", Short: "Change a channel in your editor", Args: oneOf("a channel"), ValidArgsFunction: a.suggest(suggestChannels),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.channel(ctx, args[0])
		if err != nil {
			return err
		}
		return s.edit(ctx, editing{
			get: func() (*http.Response, error) { return s.api.GetNotificationChannel(ctx, found.ID, nil) },
			put: func(body []byte, match client.RequestEditorFn) (*http.Response, error) {
				return s.api.UpdateNotificationChannelWithBody(ctx, found.ID, nil, "application/json", bytes.NewReader(body), match)
			},
			print: func(response *http.Response, err error) error {
				return s.printChannel(read[client.NotificationChannelAnswer](s, response, err))
			},
		})
	})
	return cmd
}
