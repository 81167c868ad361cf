// SPDX-License-Identifier: Apache-2.0

package exam

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/doctor"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/storage"
)

func (e *Exam) judgePostgres(ctx context.Context) *doctor.Finding {
	if e.Settings.DatabaseURL != "" {
		var server storage.Server
		err := e.WithStore(ctx, func(store *storage.Store) (err error) {
			server, err = store.Server(ctx)
			return err
		})
		judged := doctor.Postgres{Major: server.Major}
		if err != nil {
			judged.Problem = console.Sentence(err)
		}
		return new(judged.Judge())
	}
	found, err := standalone.InspectCluster(ctx, e.Settings.DataDir)
	judged := doctor.Postgres{Private: true, Dir: found.Dir, Major: found.Major}
	if err != nil {
		judged.Problem = console.Sentence(err)
	}
	return new(judged.Judge())
}

// judgeStandby needs a database that runs.
func (e *Exam) judgeStandby(ctx context.Context) *doctor.Finding {
	if e.Settings.ReadDatabaseURL == "" || e.Settings.DatabaseURL == "" && !e.Running {
		return nil
	}
	var judged *doctor.Standby // nil: the database does not answer, as the finding about Postgres says
	err := e.WithStore(ctx, func(store *storage.Store) (err error) {
		judged = &doctor.Standby{}
		copied, err := storage.OpenStandby(
			ctx,
			e.Settings.ReadDatabaseURL,
			store,
			storage.Options{Pooler: e.Settings.DatabasePooler, MaxConns: 1},
		)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, copied.Close()) }()
		reach, err := copied.Look(ctx)
		judged.Reached = reach.Reached
		if !reach.AsOf.IsZero() {
			judged.Behind = e.Now().Sub(reach.AsOf)
		}
		return err
	})
	if judged == nil {
		return nil
	}
	if err != nil {
		judged.Problem = console.Sentence(err)
	}
	return new(judged.Judge())
}

// judgeResults looks at the databases that keep results alone.
func (e *Exam) judgeResults(ctx context.Context) (found []doctor.Finding) {
	if len(e.Settings.ResultsDatabases) == 0 || e.Settings.DatabaseURL == "" && !e.Running {
		return nil
	}
	err := e.WithStore(ctx, func(store *storage.Store) error {
		for _, home := range store.HomeStates(ctx) {
			judged := doctor.Results{Region: home.Region}
			if home.Err != nil {
				judged.Problem = console.Sentence(home.Err)
			}
			found = append(found, judged.Judge())
		}
		return nil
	})
	if err != nil && len(found) == 0 && vigil.ErrorCode(err) == vigil.CodeConflict { // without it, the finding about Postgres says it
		found = append(found, doctor.Finding{Part: "results", State: doctor.Fail, Message: console.Sentence(err)})
	}
	return found
}

// judgeMigrations needs a database that runs.
func (e *Exam) judgeMigrations(ctx context.Context) *doctor.Finding {
	if e.Settings.DatabaseURL == "" && !e.Running {
		return nil
	}
	var judged doctor.Migrations
	err := e.WithStore(ctx, func(store *storage.Store) error {
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
			Part: "migrations", State: doctor.Warn, Message: "not known: " + console.Sentence(err),
			Remedies: []string{"sudo -u " + platform.OwnerOf(e.Settings.DataDir) + " vigil doctor"},
		}
	}
	if err != nil {
		judged.Problem, judged.Former = console.Sentence(err), vigil.ErrorCode(err) == vigil.CodeConflict
	}
	return new(judged.Judge())
}

// judgeTemporal needs a Temporal of its own, or an instance that runs.
func (e *Exam) judgeTemporal(ctx context.Context) *doctor.Finding {
	s := &e.Settings
	judged := doctor.Temporal{Address: s.TemporalAddress, Namespace: s.TemporalNamespace, Embedded: s.TemporalAddress == ""}
	if e.Running && judged.Embedded {
		judged.Address, judged.Namespace = e.Instance.TemporalAddress, e.Instance.Namespace
	}
	if judged.Address == "" || judged.Namespace == "" {
		return nil
	}
	if !judged.Embedded || e.RetentionGiven {
		judged.Wanted = s.TemporalRetention
	}
	p := platform.NewProcess(slog.New(slog.DiscardHandler), e.Program)
	defer p.Stop(ctx)
	dialed, err := e.dial(p, judged)
	if err == nil {
		var found dispatch.Namespace
		found, err = dispatch.InspectNamespace(ctx, dialed, judged.Namespace)
		judged.Missing, judged.Retention, judged.Attributes = found.Missing, found.Retention, found.Attributes
	}
	if err != nil {
		judged.Problem = console.Sentence(err)
	}
	return new(judged.Judge())
}

func (e *Exam) dial(p *platform.Process, to doctor.Temporal) (client.Client, error) {
	if to.Embedded {
		options := client.Options{HostPort: to.Address}
		secure, err := standalone.TemporalTLS(e.Settings.DataDir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		options.ConnectionOptions.TLS = secure
		server, err := p.NewTemporalClient(options, to.Namespace, nil, nil)
		return server.Client, err
	}
	server, err := p.DialTemporal(e.Settings, nil, nil)
	return server.Client, err
}

func (e *Exam) judgeICMP(ctx context.Context) *doctor.Finding {
	probes := probe.NewRegistry(egress.New(egress.Policy{AllowPrivate: true}))
	return new(doctor.ICMP(probes.Available(ctx)[vigil.TypePing] == nil))
}

func (e *Exam) judgeMail(ctx context.Context) *doctor.Finding {
	judged := doctor.Mail{Dir: filepath.Join(e.Settings.DataDir, "mail")}
	mailer, err := mail.New(mail.Options{
		URL: string(
			e.Settings.SMTPURL,
		),
		HELO:   string(e.Settings.SMTPHelo),
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

func (e *Exam) judgeMetrics(ctx context.Context) *doctor.Finding {
	judged := doctor.Metrics{URL: e.Instance.MetricsURL, Running: e.Running}
	if !e.Running {
		judged.URL = ""
		if e.Settings.MetricsListen != "" {
			judged.URL = "http://" + e.Settings.MetricsListen.Reachable() + "/metrics"
			judged.Running = e.several() && servesMetrics(ctx, judged.URL) == nil
		}
	}
	if e.Running && judged.URL != "" {
		if err := servesMetrics(ctx, judged.URL); err != nil {
			judged.Problem = err.Error()
		}
	}
	return new(judged.Judge())
}

// servesMetrics returns an error unless an address serves figures of Vigil.
func servesMetrics(ctx context.Context, address string) error {
	page, err := get(ctx, address)
	if err == nil && !bytes.Contains(page, []byte("\nvigil_")) {
		err = errors.New("what answers there is not Vigil")
	}
	return err
}
