// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
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
	"github.com/vigil-monitor/vigil/internal/platform/exam"
	"github.com/vigil-monitor/vigil/storage"
)

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
	running, err := instance.Running(s.DataDir)
	probes := exam.Probes(exam.Exam{
		Settings: s, Instance: running, Running: err == nil, RetentionGiven: os.Getenv("VIGIL_TEMPORAL_RETENTION") != "",
		Program: thisProgram(), Now: time.Now,
		WithStore: func(ctx context.Context, work func(*storage.Store) error) error { return withStore(ctx, &s, work) },
	})
	if wrong != nil {
		problems := doctor.Settings(strings.Split(wrong.Error(), "\n"))
		probes = append([]doctor.Probe{{Part: "settings", Look: func(context.Context) []doctor.Finding { return problems }}}, probes...)
	}
	return cli.Machine{Probes: probes, Credentials: credentials(&s), Configured: configured()}
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

// credentials are the texts that no output may have.
func credentials(s *platform.Settings) []string {
	var all []string
	for _, setting := range knownSettings() {
		if setting.Secret {
			all = append(all, strings.Split(os.Getenv(setting.Variable), ",")...)
		}
	}
	for _, key := range s.SecretKeys {
		all = append(all, hex.EncodeToString(key))
	}
	for _, name := range []string{platform.SecretKeyFile, "postgres.password", platform.DatabaseFile} {
		if text, err := os.ReadFile(filepath.Join(s.DataDir, name)); err == nil { //nolint:gosec // fixed names
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
	for _, text := range append([]string{s.DatabaseURL, string(s.SMTPURL)}, all...) {
		if parsed, err := url.Parse(text); err == nil && parsed.User != nil {
			if password, ok := parsed.User.Password(); ok {
				_, escaped, _ := strings.Cut(parsed.User.String(), ":")
				all = append(all, password, escaped)
			}
		}
	}
	if config, err := pgconn.ParseConfig(s.DatabaseURL); err == nil && s.DatabaseURL != "" {
		all = append(all, config.Password)
	}
	return all
}
