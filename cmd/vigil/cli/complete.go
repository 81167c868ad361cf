// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
)

// suggestTime bounds a suggestion of the shell. One that takes longer is left out.
const suggestTime = time.Second

// suggester names the things that an argument may be.
type suggester func(ctx context.Context, s *session, typed string) ([]string, error)

// complete completes a flag with a list of words.
func complete(cmd *cobra.Command, flag string, words func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	})
}

// suggest completes an argument with names from the API. It is silent when that fails.
func (a *app) suggest(from suggester) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.suggestions(cmd, from, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) suggestions(cmd *cobra.Command, from suggester, typed string) []string {
	parent := cmd.Context()
	if parent == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(parent, suggestTime)
	defer cancel()
	s, err := a.session(cmd)
	if err != nil {
		return nil
	}
	silent := *s.Console
	silent.Err, silent.Quiet = io.Discard, true
	if s, err = a.connect(&silent, s.to); err != nil {
		return nil
	}
	words, err := from(ctx, s, typed)
	if err != nil {
		return nil
	}
	return words
}

// regionKeys completes a flag with the keys of regions.
func (a *app) regionKeys(cmd *cobra.Command) func() []string {
	return func() []string {
		return a.suggestions(cmd, func(ctx context.Context, s *session, _ string) ([]string, error) {
			all, err := s.regions(ctx)
			var keys []string
			for _, region := range all.data {
				keys = append(keys, cobra.CompletionWithDesc(region.Key, region.City))
			}
			places, listErr := suggestLocations(ctx, s, "")
			return append(keys, places...), errors.Join(err, listErr)
		}, "")
	}
}

// suggested is how many names a suggestion has at most.
const suggested = 100

func suggestNamed(s *session, fetch fetchPage) ([]string, error) {
	all, err := list[named](s, suggested, fetch)
	var words []string
	for _, one := range all.data {
		if one.Name == "" {
			words = append(words, cobra.CompletionWithDesc(one.ID.String(), one.label()))
			continue
		}
		words = append(words, one.Name)
	}
	return words, err
}

func suggestChecks(ctx context.Context, s *session, typed string) ([]string, error) {
	return suggestNamed(s, func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListChecks(ctx, &client.ListChecksParams{Query: optional(typed)}, page)
	})
}

func suggestChannels(ctx context.Context, s *session, typed string) ([]string, error) {
	return suggestNamed(s, func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListNotificationChannels(ctx, &client.ListNotificationChannelsParams{Query: optional(typed)}, page)
	})
}

func suggestRules(ctx context.Context, s *session, typed string) ([]string, error) {
	return suggestNamed(s, func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListAllAlertRules(ctx, &client.ListAllAlertRulesParams{Query: optional(typed)}, page)
	})
}

func suggestDeliveries(ctx context.Context, s *session, _ string) ([]string, error) {
	return suggestNamed(s, func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListDeliveries(ctx, &client.ListDeliveriesParams{}, page)
	})
}

func suggestKeys(ctx context.Context, s *session, _ string) ([]string, error) {
	return suggestNamed(s, func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListApiKeys(ctx, &client.ListApiKeysParams{}, page)
	})
}

// regionFlag completes the flag --region.
func (a *app) regionFlag(cmd *cobra.Command) { complete(cmd, "region", a.regionKeys(cmd)) }

func suggestIncidents(ctx context.Context, s *session, _ string) ([]string, error) {
	return suggestNamed(s, func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListIncidents(ctx, &client.ListIncidentsParams{}, page)
	})
}

// duration64 is a number of seconds as a duration.
func duration64(seconds int64) time.Duration { return time.Duration(seconds) * time.Second }
