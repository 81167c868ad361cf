// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/doctor"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/storage"

	"github.com/vigil-monitor/vigil/internal/platform"
)

func (m *machineExam) judgePostgres(ctx context.Context) *doctor.Finding {
	if m.settings.DatabaseURL != "" {
		var server storage.Server
		err := withStore(ctx, &m.settings, func(store *storage.Store) (err error) {
			server, err = store.Server(ctx)
			return err
		})
		judged := doctor.Postgres{Major: server.Major}
		if err != nil {
			judged.Problem = sentence(err)
		}
		return new(judged.Judge())
	}
	found, err := standalone.InspectCluster(ctx, m.settings.DataDir)
	judged := doctor.Postgres{Private: true, Dir: found.Dir, Major: found.Major}
	if err != nil {
		judged.Problem = sentence(err)
	}
	return new(judged.Judge())
}

// judgeMigrations needs a database that runs.
func (m *machineExam) judgeMigrations(ctx context.Context) *doctor.Finding {
	if m.settings.DatabaseURL == "" && !m.running {
		return nil
	}
	var judged doctor.Migrations
	err := withStore(ctx, &m.settings, func(store *storage.Store) error {
		err := store.Ready(ctx)
		judged.Pending = err != nil && vigil.ErrorCode(err) == vigil.CodeUnavailable && ctx.Err() == nil
		if err != nil {
			return err
		}
		server, err := store.Server(ctx)
		judged.Schema = server.Schema
		return err
	})
	if errors.Is(err, os.ErrPermission) {
		return &doctor.Finding{
			Part: "migrations", State: doctor.Warn, Message: "not known: " + sentence(err),
			Remedies: []string{"sudo -u " + ownerOf(m.settings.DataDir) + " vigil doctor"},
		}
	}
	if err != nil {
		judged.Problem, judged.Former = sentence(err), vigil.ErrorCode(err) == vigil.CodeConflict
	}
	return new(judged.Judge())
}

// judgeTemporal needs a Temporal of its own, or an instance that runs.
func (m *machineExam) judgeTemporal(ctx context.Context) *doctor.Finding {
	s := &m.settings
	judged := doctor.Temporal{Address: s.TemporalAddress, Namespace: s.TemporalNamespace, Embedded: s.TemporalAddress == ""}
	if m.running && judged.Embedded {
		judged.Address, judged.Namespace = m.instance.TemporalAddress, m.instance.Namespace
	}
	if judged.Address == "" || judged.Namespace == "" {
		return nil
	}
	if !judged.Embedded || os.Getenv("VIGIL_TEMPORAL_RETENTION") != "" {
		judged.Wanted = s.TemporalRetention
	}
	p := quiet()
	defer p.Stop(ctx)
	dialed, err := m.dial(p, judged)
	if err == nil {
		var found dispatch.Namespace
		found, err = dispatch.InspectNamespace(ctx, dialed, judged.Namespace)
		judged.Missing, judged.Retention, judged.Attributes = found.Missing, found.Retention, found.Attributes
	}
	if err != nil {
		judged.Problem = sentence(err)
	}
	return new(judged.Judge())
}

func (m *machineExam) dial(p *platform.Process, to doctor.Temporal) (client.Client, error) {
	if to.Embedded {
		options := client.Options{HostPort: to.Address}
		secure, err := standalone.TemporalTLS(m.settings.DataDir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		options.ConnectionOptions.TLS = secure
		server, err := p.NewTemporalClient(options, to.Namespace, nil, nil)
		return server.Client, err
	}
	server, err := p.DialTemporal(m.settings, nil, nil)
	return server.Client, err
}

func (m *machineExam) judgeICMP(ctx context.Context) *doctor.Finding {
	probes := probe.NewRegistry(egress.New(egress.Policy{AllowPrivate: true}))
	return new(doctor.ICMP(probes.Available(ctx)[vigil.TypePing] == nil))
}

func (m *machineExam) judgeMail(ctx context.Context) *doctor.Finding {
	judged := doctor.Mail{Dir: filepath.Join(m.settings.DataDir, "mail")}
	mailer, err := mail.New(mail.Options{
		URL: string(
			m.settings.SMTPURL,
		),
		HELO:   string(m.settings.SMTPHelo),
		Dir:    judged.Dir,
		Dialer: egress.New(egress.Policy{AllowPrivate: true}),
	})
	if err != nil {
		return &doctor.Finding{Part: "mail", State: doctor.Fail, Message: "VIGIL_SMTP_URL: " + err.Error()}
	}
	judged.Host = mailer.Address()
	if err := mailer.Check(ctx); err != nil {
		judged.Problem = err.Error()
	}
	return new(judged.Judge())
}

func (m *machineExam) judgeMetrics(ctx context.Context) *doctor.Finding {
	judged := doctor.Metrics{URL: m.instance.MetricsURL, Running: m.running}
	if !m.running {
		judged.URL = ""
		if m.settings.MetricsListen != "" {
			judged.URL = "http://" + m.settings.MetricsListen.Reachable() + "/metrics"
		}
	}
	if m.running && judged.URL != "" {
		if err := answersMetrics(ctx, judged.URL); err != nil {
			judged.Problem = err.Error()
		}
	}
	return new(judged.Judge())
}

func answersMetrics(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return errors.New(strings.TrimPrefix(sentence(err), `Get "`+address+`": `))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers with status %d", response.StatusCode)
	}
	return nil
}
