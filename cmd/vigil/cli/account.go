// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) keyCommand() *cobra.Command {
	return Group("api-key", "List, create and revoke API keys", a.keyListCommand(), a.keyCreateCommand(), a.keyRevokeCommand())
}

func (a *app) keyListCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List API keys; a key itself is shown only when it is made", Args: cobra.NoArgs,
	}
	limitFlag(cmd, &limit, unlimited)
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		all, err := list[client.Key](s, limit, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListApiKeys(ctx, &client.ListApiKeysParams{}, page)
		})
		if err != nil {
			return err
		}
		columns := console.Columns("ID", "NAME", "BEGINS WITH", "SCOPES", "EXPIRES", "LAST USED", "CREATED")
		return show(s, all, console.List{Columns: columns, Empty: "No API keys."}, func(k client.Key) []console.Cell {
			return []console.Cell{
				console.ID(k.Id.String()), console.Text(k.Name), console.Word(k.KeyPrefix), console.Word(joined(k.Scopes)),
				console.Time(k.ExpiresAt), console.Time(k.LastUsedAt), console.Time(&k.CreatedAt),
			}
		})
	})
	return cmd
}

func joined[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ",")
}

func (a *app) keyCreateCommand() *cobra.Command {
	var scopes []string
	var expires string
	cmd := &cobra.Command{
		Use: "create <name>", Short: "Create an API key and print it, alone",
		Long:    "Create an API key and print it, alone, on standard output. It is shown only once.",
		Example: "  vigil api-key create dashboard --scopes read --expires 90d",
		Args:    oneOf("a name for the key"),
	}
	cmd.Flags().StringSliceVar(&scopes, "scopes", nil, "what the key may do: read, respond, write, admin (default: all)")
	cmd.Flags().StringVar(&expires, "expires", "", "`duration` after which it ends, such as 90d (default: never)")
	complete(cmd, "scopes", func() []string { return []string{"read", "respond", "write", "admin"} })
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		request := client.KeyRequest{Name: args[0]}
		if len(scopes) > 0 {
			request.Scopes = new(scopesOf(scopes))
		}
		if expires != "" {
			lasts, err := duration("--expires", expires)
			if err != nil {
				return err
			}
			request.ExpiresAt = new(s.Now().Add(lasts).UTC())
		}
		response, err := s.api.CreateApiKey(ctx, nil, request, once())
		answer, body, err := read[client.NewKeyAnswer](s, response, err)
		if err != nil {
			return err
		}
		if s.Query == nil && (s.Format == console.Table || s.Format == console.Wide) {
			_, err := fmt.Fprintln(s.Out, answer.Data.ApiKey)
			return err
		}
		return s.Print(console.Answer{Body: body})
	})
	return cmd
}

func scopesOf(words []string) []client.KeyRequestScopes {
	scopes := make([]client.KeyRequestScopes, len(words))
	for i, word := range words {
		scopes[i] = client.KeyRequestScopes(word)
	}
	return scopes
}

func (a *app) keyRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke <key>", Short: "Revoke an API key, by its name or ID", Args: oneOf("an API key"), ValidArgsFunction: a.suggest(suggestKeys),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.key(ctx, args[0])
		if err != nil {
			return err
		}
		return s.remove("revoke", "API key", found.ID, found.Name, func() (*http.Response, error) { return s.api.DeleteApiKey(ctx, found.ID) })
	})
	return cmd
}

func (a *app) usageCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "usage", Short: "Show what the organization uses of its limits", Args: cobra.NoArgs}
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		response, err := s.api.GetUsage(ctx)
		answer, body, err := read[client.UsageAnswer](s, response, err)
		if err != nil {
			return err
		}
		u := answer.Data
		table := console.List{Columns: console.Columns("WHAT", "USED", "LIMIT")}
		row := func(what string, used int64, limit *int64) {
			most := console.Word("none")
			if limit != nil {
				most = console.Number(*limit)
			}
			table.Rows = append(table.Rows, []console.Cell{console.Word(what), console.Number(used), most})
		}
		row("executions an hour", int64(u.ExecutionsPerHour.Used), u.ExecutionsPerHour.Limit)
		for _, name := range slices.Sorted(maps.Keys(u.Limits)) {
			row(strings.ReplaceAll(name, "_", " "), u.Limits[name].Used, u.Limits[name].Limit)
		}
		rate := int64(0)
		if u.RateLimit.Limit != nil && u.RateLimit.Remaining != nil {
			rate = *u.RateLimit.Limit - *u.RateLimit.Remaining
		}
		row("requests a "+console.Span(duration64(u.RateLimit.WindowSeconds)), rate, u.RateLimit.Limit)
		return s.Print(console.Answer{Body: body, Names: []string{string(u.Tier)}, Parts: []console.Part{
			console.Fields{{Name: "tier", Value: console.Word(string(u.Tier))}}, table,
		}})
	})
	return cmd
}

func (a *app) regionCommand() *cobra.Command {
	var offline bool
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List regions, and whether a worker serves them", Args: cobra.NoArgs}
	cmd.Flags().BoolVar(&offline, "offline", false, "only those that no worker serves")
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		all, err := s.regions(ctx)
		if err != nil {
			return err
		}
		if offline {
			all = all.only(func(r client.Region) bool { return r.Status == client.RegionStatusOffline })
		}
		columns := console.Columns("REGION", "CITY", "COUNTRY", "STATUS", "CANNOT RUN", "+ALIASES", "+CLOCK", "+BLIND SINCE")
		return show(s, all, console.List{Columns: columns, Empty: "No regions."}, func(r client.Region) []console.Cell {
			clock := ""
			if r.ClockDifferenceSeconds != nil {
				clock = fmt.Sprintf("%+.1fs", *r.ClockDifferenceSeconds)
			}
			status := health(string(r.Status))
			if r.BlindSince != nil {
				status = health("blind")
			}
			return []console.Cell{
				console.Word(r.Key), console.Text(r.City), console.Text(r.Country), status,
				console.Word(strings.Join(r.UnavailableTypes, ",")), console.Text(strings.Join(r.Aliases, ",")), console.Word(clock),
				console.Time(r.BlindSince),
			}
		})
	})
	return Group("region", "List the regions that checks can run from", cmd)
}

func (s *session) regions(ctx context.Context) (rows[client.Region], error) {
	return list[client.Region](s, unlimited, func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListRegions(ctx, &client.ListRegionsParams{}, page)
	})
}

// only returns the rows that pass a test.
func (r rows[T]) only(pass func(T) bool) rows[T] {
	kept := rows[T]{meta: r.meta, total: r.total, more: r.more}
	for i, row := range r.data {
		if pass(row) {
			kept.data, kept.raw = append(kept.data, row), append(kept.raw, r.raw[i])
		}
	}
	return kept
}

func (a *app) auditCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{Use: "audit", Short: "List what was changed, by whom, the newest first", Args: cobra.NoArgs}
	limitFlag(cmd, &limit, recent)
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		all, err := list[client.Audit](s, limit, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListAuditLog(ctx, &client.ListAuditLogParams{}, page)
		})
		if err != nil {
			return err
		}
		columns := console.Columns("TIME", "ACTION", "MEMBERS", "KEY", "ADDRESS", "AGENT", "RESOURCE", "+REQUEST")
		return show(s, all, console.List{Columns: columns, Empty: "Nothing was changed."}, func(e client.Audit) []console.Cell {
			resource := ""
			if e.ResourceId != nil {
				resource = e.ResourceId.String()
			}
			return []console.Cell{
				console.Time(&e.CreatedAt), console.Word(e.Action), console.Text(strings.Join(e.Members, ",")), console.Word(value(e.KeyPrefix)),
				console.Word(e.Address), console.Text(e.UserAgent), console.ID(resource), console.Word(e.RequestId),
			}
		})
	})
	return cmd
}
