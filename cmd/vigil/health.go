// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/storage"
)

// A role that does not answer within healthTimeout is unhealthy. A worker is healthy
// while its lease is younger than maxLeaseAge.
const (
	healthTimeout = 5 * time.Second
	maxLeaseAge   = 5 * time.Second
)

func newHealthCommand() *cobra.Command {
	return cli.Group("health", "Check whether a role on this machine is healthy, for health checks of containers",
		healthCommand("api", "Check that the API at VIGIL_LISTEN serves", apiHealth),
		healthCommand("worker", "Check in the database that a worker of this host renews its lease", workerHealth),
		healthCommand("control", "Check that the control worker's database is reachable and migrated", controlHealth),
	)
}

func healthCommand(name, short string, check func(context.Context, *platform.Settings) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), healthTimeout)
			defer cancel()
			return check(ctx, &s)
		},
	}
}

func apiHealth(ctx context.Context, s *platform.Settings) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Listen.Reachable()+"/health", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("the API does not answer: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the API answers with status %d", response.StatusCode)
	}
	return nil
}

func workerHealth(ctx context.Context, s *platform.Settings) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	return withStore(ctx, s, func(store *storage.Store) error {
		leases, err := store.LiveLeases(ctx, maxLeaseAge)
		if err != nil {
			return err
		}
		for _, lease := range leases {
			if strings.HasPrefix(lease.Worker, host+"/") {
				return nil
			}
		}
		return errors.New("no worker of this host has renewed its lease")
	})
}

func controlHealth(ctx context.Context, s *platform.Settings) error {
	return withStore(ctx, s, func(store *storage.Store) error { return store.Ready(ctx) })
}
