// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"
)

// The roles are the parts of `vigil up` as processes of their own, against a
// Postgres and a Temporal that run elsewhere.

// runRole builds the parts of a role, starts what it serves, and runs until its
// context ends or a part fails. knowsListen says that VIGIL_LISTEN is the address of
// the API: a role on another machine must not rely on the default.
func runRole(ctx context.Context, p *process, s settings, knowsListen bool, start func(context.Context, *platform) error) error {
	defer p.stop(ctx)
	in := inputs{settings: s, dsn: s.DatabaseURL, privateTargets: s.local() && knowsListen}
	var err error
	if in.secrets, err = openSecrets(&s, nil); err != nil {
		return err
	}
	if in.metrics, err = p.serveMetrics(ctx, s); err != nil {
		return err
	}
	if in.store, err = p.openStore(ctx, in.dsn, in.settings.DatabasePooler, in.secrets.keyring); err != nil {
		return err
	}
	if err = in.store.Ready(ctx); err != nil {
		return err
	}
	if err = in.noteEncryption(ctx); err != nil {
		return err
	}
	if in.temporal, err = p.dialTemporal(s, in.payloadCodec(), in.metrics.metrics); err != nil {
		return err
	}
	built, err := newPlatform(ctx, p, in)
	if err != nil {
		return err
	}
	if err := start(ctx, built); err != nil {
		return err
	}
	return p.wait(ctx)
}

// readRoleSettings returns the settings of a role, and the life of its process.
func readRoleSettings(cmd *cobra.Command) (settings, *process, error) {
	s, err := readSettings(cmd)
	switch {
	case err != nil:
		return s, nil, err
	case s.DatabaseURL == "":
		return s, nil, errors.New("a role of its own needs DATABASE_URL, the Postgres that all roles share; `vigil up` runs one by itself")
	case s.TemporalAddress == "":
		return s, nil, errors.New("a role of its own needs TEMPORAL_ADDRESS, the Temporal that all roles share; `vigil temporal` runs one")
	}
	return s, newProcess(newLogger(cmd.ErrOrStderr(), slog.Level(s.LogLevel))), nil
}
