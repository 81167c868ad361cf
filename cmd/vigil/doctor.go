// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/doctor"
	"github.com/vigil-monitor/vigil/internal/instance"
	"github.com/vigil-monitor/vigil/internal/platform"
)

// machineExam looks at the machine of a server for `vigil doctor`.
type machineExam struct {
	settings platform.Settings
	// instance is the `vigil up` of the data directory: running, or ended without an orderly
	// stop (with its process ID), or the zero value.
	instance instance.Instance
	running  bool
	now      func() time.Time
}

// machine returns what doctor looks at on this machine. Settings come from the environment,
// as those of the server's commands; addresses of a running instance from the instance.
func machine(dataDir string) cli.Machine {
	cmd := &cobra.Command{}
	addSettings(cmd.Flags())
	_ = cmd.Flags().Set("data-dir", dataDir)
	s, wrong := readSettings(cmd)
	if s.DataDir == "" { // no setting was read
		s = platform.Settings{DataDir: dataDir}
	}
	m := machineExam{settings: s, now: time.Now}
	var err error
	m.instance, err = instance.Running(s.DataDir)
	m.running = err == nil
	probes := m.probes()
	if wrong != nil {
		problems := doctor.Settings(strings.Split(wrong.Error(), "\n"))
		probes = append([]doctor.Probe{{Part: "settings", Look: func(context.Context) []doctor.Finding { return problems }}}, probes...)
	}
	return cli.Machine{Probes: probes, Credentials: m.credentials(), Configured: configured()}
}

// configured reports whether a setting of Vigil's server is in the environment.
func configured() bool {
	for _, s := range knownSettings() {
		if strings.HasPrefix(s.Variable, "VIGIL_") && os.Getenv(s.Variable) != "" {
			return true
		}
	}
	return false
}

// several: the parts of the platform are processes of their own, and no instance.
func (m *machineExam) several() bool {
	return m.settings.DatabaseURL != "" && m.settings.TemporalAddress != "" && m.instance.PID == 0
}

func (m *machineExam) probes() []doctor.Probe {
	one := func(part string, look func(context.Context) *doctor.Finding) doctor.Probe {
		return doctor.Probe{Part: part, Look: func(ctx context.Context) []doctor.Finding {
			if found := look(ctx); found != nil {
				return []doctor.Finding{*found}
			}
			return nil
		}}
	}
	return []doctor.Probe{
		one("instance", m.judgeInstance),
		one("data", m.judgeDataDir),
		one("disk", m.judgeDisk),
		{Part: "ports", Look: m.judgePorts},
		one("postgres", m.judgePostgres),
		one("migrations", m.judgeMigrations),
		one("secret key", m.judgeSecretKey),
		one("temporal", m.judgeTemporal),
		one("icmp", m.judgeICMP),
		one("mail", m.judgeMail),
		one("metrics", m.judgeMetrics),
		one("apply", m.judgeApplied),
	}
}

// quiet is a process whose parts log nothing.
func quiet() *platform.Process {
	return platform.NewProcess(slog.New(slog.DiscardHandler), thisProgram())
}

// credentials are the texts that no output may have.
func (m *machineExam) credentials() []string {
	var all []string
	for _, s := range knownSettings() {
		if s.Secret {
			all = append(all, strings.Split(os.Getenv(s.Variable), ",")...)
		}
	}
	for _, key := range m.settings.SecretKeys {
		all = append(all, hex.EncodeToString(key))
	}
	for _, name := range []string{platform.SecretKeyFile, "postgres.password", platform.DatabaseFile} {
		if text, err := os.ReadFile(filepath.Join(m.settings.DataDir, name)); err == nil { //nolint:gosec // fixed names
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
	for _, text := range append([]string{m.settings.DatabaseURL, string(m.settings.SMTPURL)}, all...) {
		if parsed, err := url.Parse(text); err == nil && parsed.User != nil {
			if password, ok := parsed.User.Password(); ok {
				_, escaped, _ := strings.Cut(parsed.User.String(), ":")
				all = append(all, password, escaped)
			}
		}
	}
	if config, err := pgconn.ParseConfig(m.settings.DatabaseURL); err == nil && m.settings.DatabaseURL != "" {
		all = append(all, config.Password)
	}
	return all
}
