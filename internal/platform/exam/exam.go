// SPDX-License-Identifier: Apache-2.0

// Package exam looks at the machine of a server for `vigil doctor`: its data directory, disk and
// ports, its database and Temporal, and what it needs of the system. It only looks: package
// doctor judges what was seen and says what to do. A part that cannot be looked at, such as the
// schema of a private Postgres that does not run, has no finding.
package exam

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil/internal/doctor"
	"github.com/vigil-monitor/vigil/internal/instance"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/storage"
)

// Exam is what a look at a machine begins with. All members are required but Instance and
// Running.
type Exam struct {
	Settings platform.Settings
	// Instance is the `vigil up` of the data directory: running, or ended without an orderly
	// stop (with its process ID), or the zero value.
	Instance instance.Instance
	Running  bool
	// RetentionGiven: the retention of Temporal was set, and is no default.
	RetentionGiven bool
	// WithStore opens the database of the settings for a piece of work.
	WithStore func(ctx context.Context, work func(*storage.Store) error) error
	Program   platform.Program
	Now       func() time.Time
}

// several: the parts of the platform are processes of their own, and no instance.
func (e *Exam) several() bool {
	return e.Settings.DatabaseURL != "" && e.Settings.TemporalAddress != "" && e.Instance.PID == 0
}

// Probes are the looks at the machine, in the order of the report.
func Probes(of Exam) []doctor.Probe {
	e := &of
	one := func(part string, look func(context.Context) *doctor.Finding) doctor.Probe {
		return doctor.Probe{Part: part, Look: func(ctx context.Context) []doctor.Finding {
			if found := look(ctx); found != nil {
				return []doctor.Finding{*found}
			}
			return nil
		}}
	}
	return []doctor.Probe{
		one("instance", e.judgeInstance),
		one("data", e.judgeDataDir),
		one("disk", e.judgeDisk),
		{Part: "ports", Look: e.judgePorts},
		one("postgres", e.judgePostgres),
		{Part: "database rights", Look: e.judgeDatabaseRights},
		one("standby", e.judgeStandby),
		{Part: "results", Look: e.judgeResults},
		one("migrations", e.judgeMigrations),
		one("secret key", e.judgeSecretKey),
		one("temporal", e.judgeTemporal),
		{Part: "temporal rights", Look: e.judgeTemporalRights},
		one("icmp", e.judgeICMP),
		one("mail", e.judgeMail),
		one("metrics", e.judgeMetrics),
		one("apply", e.judgeApplied),
	}
}
