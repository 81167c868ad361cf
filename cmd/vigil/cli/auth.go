// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) authCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "status", Short: "Show server, key and organization, and where each comes from", Args: cobra.NoArgs}
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		response, err := s.api.GetMe(ctx)
		answer, _, err := read[client.MeAnswer](s, response, err)
		if err != nil {
			return err
		}
		me := answer.Data
		data := map[string]any{
			"url": s.to.URL, "url_from": s.to.URLFrom, "key_prefix": prefixOf(s.to.Key), "key_from": s.to.KeyFrom, "context": s.to.Context,
			"organization": me.Organization, "user": me.User, "api_key": me.ApiKey,
		}
		body, err := json.Marshal(map[string]any{"data": data})
		if err != nil {
			return err
		}
		table := console.List{Columns: console.Columns("WHAT", "VALUE", "FROM")}
		row := func(what string, value console.Cell, from string) {
			table.Rows = append(table.Rows, []console.Cell{console.Word(what), value, console.Text(from)})
		}
		row("server", console.Word(s.to.URL), s.to.URLFrom)
		row("key", console.Word(prefixOf(s.to.Key)+"…"), s.to.KeyFrom)
		if key := me.ApiKey; key != nil {
			row("key name", console.Text(key.Name), "the server")
			row("scopes", console.Word(joined(key.Scopes)), "the server")
			if key.ExpiresAt != nil {
				row("expires", console.Time(key.ExpiresAt), "the server")
			} else {
				row("expires", console.Word("never"), "the server")
			}
		}
		row("organization", console.Text(me.Organization.Name), "the server")
		row("user", console.Text(string(me.User.Email)), "the server")
		return s.Print(console.Answer{Body: body, Names: []string{me.Organization.Id.String()}, Parts: []console.Part{table}})
	})
	return Group("auth", "Show who you are logged in as", cmd)
}
