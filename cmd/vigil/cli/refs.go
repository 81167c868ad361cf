// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// named is something that a command line names: by its ID, by a part of its ID or by
// its name.
type named struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
	// Key names a location.
	Key string `json:"key"`
	// Slug and Email name status pages and members. Title and Channel are only shown, of
	// incidents and deliveries.
	Slug    string `json:"slug"`
	Email   string `json:"email"`
	Title   string `json:"title"`
	Channel string `json:"channel_name"`
	// Regions are those of a check.
	Regions []string `json:"regions"`
	// CheckID is the check of a rule.
	CheckID uuid.UUID `json:"check_id"`
	// ManagedBy names the project that manages it.
	ManagedBy *manager `json:"managed_by"`
}

func (n named) label() string {
	for _, name := range []string{n.Slug, n.Email, n.Name, n.Title, n.Channel} {
		if name != "" {
			return name
		}
	}
	return ""
}

// resolve finds one thing of a kind: the one with exactly this name, or else the one whose ID
// has the text as a part. The list is asked for those whose name contains the text, or
// for all of them ("").
func (s *session) resolve(kind, ref string, fetch func(query string) fetchPage) (named, error) {
	if id, err := uuid.Parse(ref); err == nil && len(ref) == 36 {
		return named{ID: id}, nil
	}
	if ref == "" {
		return named{}, console.Errorf(console.Usage, "the %s has no name", kind)
	}
	if found, ok, err := s.managed(kind, ref, fetch); ok || err != nil {
		return found, err
	}
	query, part := ref, console.IsIDPart(ref)
	if part {
		query = ""
	}
	all, err := list[named](s, maxScan, fetch(query))
	if err != nil {
		return named{}, err
	}
	matches := matching(all.data, func(n named) bool { return n.Name == ref || n.Slug == ref || n.Key == ref || n.Email == ref })
	if len(matches) == 0 && part {
		matches = matching(all.data, func(n named) bool { return console.HasIDPart(n.ID.String(), ref) })
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return named{}, console.Errorf(
			console.NotFound, "there is no %s %q: give its name, its id, or the first or last %d or more characters of its id",
			kind, ref, console.LeastIDPart,
		)
	}
	var candidates []string
	for _, match := range matches[:min(len(matches), 10)] {
		candidates = append(candidates, match.ID.String()+" "+console.Clean(match.label()))
	}
	return named{}, console.Errorf(
		console.Usage, "%q may be any of %d %ss; give an id: %s", ref, len(matches), kind, strings.Join(candidates, ", "),
	)
}

func matching(all []named, is func(named) bool) []named {
	return slices.DeleteFunc(slices.Clone(all), func(n named) bool { return !is(n) })
}

// managed finds a thing by the key that it has in the files of a project, such as
// shop/home. A name may have that form too, so it is no mistake when there is none.
func (s *session) managed(kind, ref string, fetch func(query string) fetchPage) (named, bool, error) {
	project, key, ok := strings.Cut(ref, "/")
	if !ok || project == "" || key == "" || strings.ContainsAny(ref, " :") || !slices.Contains(managedKinds(), kind) {
		return named{}, false, nil
	}
	all, err := list[named](s, maxScan, func(page client.RequestEditorFn) (*http.Response, error) {
		return fetch("")(func(ctx context.Context, request *http.Request) error {
			return errors.Join(page(ctx, request), query("project", project, "key", key)(ctx, request))
		})
	})
	if err != nil || len(all.data) == 0 {
		return named{}, false, err
	}
	if len(all.data) > 1 {
		return named{}, false, console.Errorf(console.Usage, "%q is the key of %d %ss, of several programs; give an id", ref, len(all.data), kind)
	}
	return all.data[0], true, nil
}

// managedKinds are the kinds that a project can manage.
func managedKinds() []string {
	kinds := kindNames()
	for i, kind := range kinds {
		kinds[i] = strings.ReplaceAll(kind, "-", " ")
	}
	return kinds
}

// maxScan bounds how many things are looked through for a name.
const maxScan = 20_000

// check finds a check.
func (s *session) check(ctx context.Context, ref string) (named, error) {
	return s.resolve("check", ref, func(query string) fetchPage {
		params := &client.ListChecksParams{Query: optional(query)}
		return func(page client.RequestEditorFn) (*http.Response, error) { return s.api.ListChecks(ctx, params, page) }
	})
}

// channel finds a notification channel.
func (s *session) channel(ctx context.Context, ref string) (named, error) {
	return s.resolve("channel", ref, func(query string) fetchPage {
		params := &client.ListNotificationChannelsParams{Query: optional(query)}
		return func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListNotificationChannels(ctx, params, page)
		}
	})
}

// rule finds an alert rule, among those of one check when there is one.
func (s *session) rule(ctx context.Context, ref string, check *uuid.UUID) (named, error) {
	return s.resolve("rule", ref, func(query string) fetchPage {
		params := &client.ListAllAlertRulesParams{Query: optional(query), CheckId: check}
		return func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListAllAlertRules(ctx, params, page)
		}
	})
}

// incident finds an incident by its ID.
func (s *session) incident(ctx context.Context, ref string) (named, error) {
	return s.resolve("incident", ref, func(string) fetchPage {
		return func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListIncidents(ctx, &client.ListIncidentsParams{}, page)
		}
	})
}

// delivery finds a delivery by its ID.
func (s *session) delivery(ctx context.Context, ref string) (named, error) {
	return s.resolve("delivery", ref, func(string) fetchPage {
		return func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListDeliveries(ctx, &client.ListDeliveriesParams{}, page)
		}
	})
}

// key finds an API key.
func (s *session) key(ctx context.Context, ref string) (named, error) {
	return s.resolve("API key", ref, func(string) fetchPage {
		return func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListApiKeys(ctx, &client.ListApiKeysParams{}, page)
		}
	})
}

// optional returns nil for the zero value.
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
