// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"time"
)

// costs are what every part has used at an instant.
type costs struct {
	at                         time.Time
	vigil, temporal, pg, aimed usage
	written                    written
	counted                    counted
	busy                       time.Duration // of the whole machine
}

func (s *cluster) costs(ctx context.Context) (costs, error) {
	c := costs{at: time.Now()}
	var err error
	if c.written, err = s.writes(ctx); err != nil {
		return c, err
	}
	if c.counted, err = s.counts(ctx); err != nil {
		return c, err
	}
	if c.busy, err = busyTime(); err != nil {
		return c, err
	}
	temporal := 0
	if s.temporal != nil {
		temporal = s.temporal.pid()
	}
	for _, one := range []struct {
		into *usage
		pid  int
		tree bool
	}{
		{&c.vigil, s.worker.pid(), false},
		{&c.temporal, temporal, false},
		{&c.pg, s.postgres.PID(), true},
		{&c.aimed, s.target.pid(), false},
	} {
		if one.pid == 0 {
			continue
		}
		used, err := usageOf(one.pid, one.tree)
		if err != nil {
			return c, err
		}
		*one.into = used
	}
	return c, nil
}
