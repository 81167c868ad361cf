// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
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
			body, err := s.channelBody(ctx, &n, args)
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

// channelBody is the request that creates a channel.
func (s *session) channelBody(ctx context.Context, n *newChannel, args []string) ([]byte, error) {
	kind := args[0]
	config := map[string]any{}
	var err error
	if n.configFile != "" {
		if config, err = object(s.Console, n.configFile); err != nil {
			return nil, err
		}
	}
	if len(args) == 2 || n.secretVariable != "" || n.secretFile != "" {
		of, err := s.channelType(ctx, kind)
		if err != nil {
			return nil, err
		}
		if len(args) == 2 {
			if err := n.target(of, args[1], config); err != nil {
				return nil, err
			}
		}
		if err := n.secret(s.Console, of, config); err != nil {
			return nil, err
		}
	}
	for _, text := range n.config {
		if err := assign("--config", config, text); err != nil {
			return nil, err
		}
	}
	body := map[string]any{"name": cmp.Or(n.name, channelName(kind, args[1:])), "type": kind, "config": config}
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

// channelType asks the server what it knows of a type of channel.
func (s *session) channelType(ctx context.Context, kind string) (*client.ChannelType, error) {
	response, err := s.api.ListChannelTypes(ctx, &client.ListChannelTypesParams{Limit: new(int64(maxTypes))})
	types, _, err := read[client.ChannelTypeList](s, response, err)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(types.Data))
	for i := range types.Data {
		if names[i] = types.Data[i].Type; names[i] == kind {
			return &types.Data[i], nil
		}
	}
	return nil, console.Errorf(console.Usage, "there is no channel of the type %q; the types are %s", kind, strings.Join(names, ", "))
}

// format is the one that --config or else the file gives; empty: none.
func (n *newChannel) format(config map[string]any) string {
	for _, text := range n.config {
		if format, ok := strings.CutPrefix(text, "format="); ok {
			return format
		}
	}
	format, _ := config["format"].(string)
	return format
}

// target puts the second word into the member of the config that says where messages go. An
// address that the type has anyway is replaced by a URL only.
func (n *newChannel) target(of *client.ChannelType, word string, config map[string]any) error {
	member, required := of.TargetMember(n.format(config))
	if member == nil || !required && member.Format != nil && !strings.Contains(word, "://") {
		return console.Errorf(console.Usage, "a channel of the type %s takes no address; give --config", of.Type)
	}
	config[member.Name] = word
	if member.Type == client.ChannelMemberTypeArray {
		config[member.Name] = strings.Split(word, ",")
	}
	return nil
}

// secret sets the secret of the config from a variable or a file.
func (n *newChannel) secret(con *console.Console, of *client.ChannelType, config map[string]any) error {
	if n.secretVariable == "" && n.secretFile == "" {
		return nil
	}
	member := of.SecretMember(n.format(config))
	if member == nil || n.secretVariable != "" && n.secretFile != "" {
		return console.Errorf(
			console.Usage, "a channel of the type %s takes its secret from one of --secret-from-env and --secret-from-file, if any", of.Type,
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
	config[member.Name] = text
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
