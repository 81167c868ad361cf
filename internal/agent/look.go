// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
)

// Look is what one look at the platform has seen.
type Look struct {
	Location agentlink.Place
	// Clock is by how much the clock of this machine is ahead of the platform's.
	Clock time.Duration
}

// Look opens a session and lets it end, so that nothing is probed: it shows whether the platform
// accepts the token. Registry, Guard, Dir and what they need may be missing.
func (o *Options) Look(ctx context.Context) (Look, error) {
	key, err := agentlink.NewKey()
	if err != nil {
		return Look{}, err
	}
	sent := o.Now()
	var welcome agentlink.Welcome
	err = o.call(ctx, agentlink.PathSessions, agentlink.Hello{
		Protocol: agentlink.Protocol, Version: o.Version, Name: o.Name, Instance: uuid.New(), Key: key.Public(), Types: []vigil.CheckType{},
	}, &welcome)
	if err != nil {
		return Look{}, err
	}
	by := &clock{own: o.Now, log: slog.New(slog.DiscardHandler)}
	by.observe(sent, o.Now(), welcome.Time)
	return Look{Location: welcome.Location, Clock: by.Difference()}, nil
}
