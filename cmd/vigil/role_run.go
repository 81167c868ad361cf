// SPDX-License-Identifier: Apache-2.0

package main

import "context"

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
