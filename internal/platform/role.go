// SPDX-License-Identifier: Apache-2.0

package platform

import "context"

// RunRole builds the parts of a role, starts what it serves, and runs until its
// context ends or a part fails. knowsListen says that VIGIL_LISTEN is the address of
// the API: a role on another machine must not rely on the default. A role that is stopped while it starts has no error.
func RunRole(ctx context.Context, p *Process, s Settings, knowsListen bool, start func(context.Context, *Platform) error) error {
	defer p.Stop(ctx)
	if err := p.startRole(ctx, s, knowsListen, start); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	return p.Wait(ctx)
}

// startRole builds the parts of a role, and starts what it serves.
func (p *Process) startRole(ctx context.Context, s Settings, knowsListen bool, start func(context.Context, *Platform) error) error {
	in := inputs{settings: s, dsn: s.DatabaseURL, privateTargets: s.Local() && knowsListen}
	var err error
	if in.secrets, err = OpenSecrets(&s, nil); err != nil {
		return err
	}
	if in.metrics, err = p.ServeMetrics(ctx, s); err != nil {
		return err
	}
	if in.store, err = p.openStore(ctx, in.dsn, &in.settings, maxConns, in.secrets.Keyring); err != nil {
		return err
	}
	if err = in.store.Ready(ctx); err != nil {
		return err
	}
	p.clock.compare(ctx, in.store.Clock) // before anything is judged by it
	if err = in.noteEncryption(ctx); err != nil {
		return err
	}
	if in.temporal, err = p.DialTemporal(s, in.payloadCodec(), in.metrics.metrics); err != nil {
		return err
	}
	built, err := newPlatform(ctx, p, in)
	if err != nil {
		return err
	}
	return start(ctx, built)
}
