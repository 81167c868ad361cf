// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // reads the results as any client would

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/internal/simulate"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage"
)

// LoopOptions configure MeasureLoops.
type LoopOptions struct {
	Loops    int           // checks, each in one region
	Interval time.Duration // of every check
	TurnRate string        // of the worker (VIGIL_TURN_RATE)
	Window   time.Duration // the longest time of a turn
	Settle   time.Duration // how long to wait at most until turns cover as many slots as they will
	Measure  time.Duration // how long, after that
	Restart  bool          // kill worker and Temporal afterwards, and measure until every loop probes
	Drills   int           // how many drills to run at most, one after the other, while it measures once more; 0: it does not
	InOne    bool          // run Temporal, the API and the workers in one process, as vigil up does
	Record   string        // file of costs that the figures are added to, for MeasureLoops; empty: none
	Out      io.Writer     // where the report goes
}

// region is where all loops run.
const region = "eu-central-fra"

// MeasureLoops runs that many loops against an HTTP target on loopback and
// prints what they cost. The parts run as processes of their own: Postgres,
// Temporal, one worker with the sweep, and the target.
func MeasureLoops(ctx context.Context, o LoopOptions) error {
	return withCluster(ctx, o, func(s *cluster) error {
		if err := s.seed(ctx, o); err != nil {
			return err
		}
		report, err := s.measure(ctx, o)
		if err != nil {
			return err
		}
		if err := report.print(o.Out); err != nil {
			return err
		}
		var run simulate.Recording
		if o.Record != "" {
			if run, err = s.recording(ctx, report); err != nil {
				return err
			}
		}
		if o.Drills > 0 {
			if err := s.measureDrills(ctx, o, report); err != nil {
				return err
			}
		}
		if o.Restart {
			if run.Recovery, err = s.restart(ctx, o); err != nil {
				return err
			}
		}
		if o.Record == "" {
			return nil
		}
		return simulate.AddRecording(o.Record, machine(), run)
	})
}

// cluster is everything that runs during a measurement.
type cluster struct {
	data     *standalone.DataDir
	postgres *standalone.Postgres
	temporal *part // nil: the worker's process has Temporal too
	worker   *part
	target   *part
	url      string   // of the target
	env      []string // of the parts
	history  *sql.DB  // Temporal's own database, to see what it writes
	store    *storage.Store
	db       *sql.DB
	metrics  string        // address of the worker's figures, empty without a recording
	began    time.Time     // when the first check was created
	created  time.Duration // from then until every loop had a result
	settled  time.Duration // from then on, until the measurement
}

// startCluster starts all parts. It returns the parts that started with an error too.
func startCluster(ctx context.Context, dir string, o LoopOptions) (*cluster, error) {
	at(ctx, "starting Postgres, Temporal and a worker")
	s, err := startServers(ctx, dir, o)
	if err == nil {
		s.worker, err = s.startWorker(ctx)
	}
	return s, err
}

// startServers starts all parts but the worker. It returns the parts that started with an
// error too.
func startServers(ctx context.Context, dir string, o LoopOptions) (*cluster, error) {
	s := &cluster{}
	var err error
	if s.data, err = standalone.OpenDataDir(dir); err != nil {
		return s, err
	}
	if s.postgres, err = standalone.StartPostgres(ctx, s.data, standalone.PostgresOptions{Databases: []string{"vigil"}}); err != nil {
		return s, err
	}
	dsn := s.postgres.DSN("vigil")
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	keys, err := secret.NewKeyring(raw)
	if err != nil {
		return s, err
	}
	s.store, err = storage.Open(ctx, dsn, storage.Options{
		Keys:     keys,
		Policies: vigil.DeliveryPolicies{vigil.ChannelWebhook: drillPolicy()},
		MaxConns: 4,
		Now:      time.Now,
		Log:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return s, err
	}
	if _, err := s.store.Migrate(ctx); err != nil {
		return s, err
	}
	if s.db, err = sql.Open("pgx", dsn); err != nil {
		return s, err
	}
	var served struct {
		Address string `json:"temporal_address"`
	}
	s.env = []string{
		"DATABASE_URL=" + dsn, "VIGIL_DATA_DIR=" + dir, "VIGIL_TEMPORAL_LISTEN=127.0.0.1:0", "VIGIL_UI_LISTEN=127.0.0.1:0",
		"VIGIL_SECRET_KEY=" + hex.EncodeToString(raw), "VIGIL_QUIET_WINDOW=" + o.Window.String(), "VIGIL_LOG_LEVEL=warn",
		"VIGIL_TURN_RATE=" + o.TurnRate,
		"VIGIL_ALLOWED_PRIVATE_CIDRS=127.0.0.0/8", "VIGIL_CANARIES=",
	}
	if o.Record != "" {
		if s.metrics, err = freeAddress(ctx); err != nil {
			return s, err
		}
	}
	if !o.InOne {
		if s.temporal, err = spawn(ctx, "temporal", s.env, &served, "temporal", "--json"); err != nil {
			return s, err
		}
		s.env = append(s.env, "TEMPORAL_ADDRESS="+served.Address)
	}
	if s.target, s.url, err = startTarget(ctx); err != nil {
		return s, err
	}
	store, _ := standalone.TemporalDatabases("vigil")
	s.history, err = sql.Open("pgx", s.postgres.DSN(store))
	return s, err
}

// startWorker starts the process that probes, which is everything but Postgres where there
// is no other process for Temporal.
func (s *cluster) startWorker(ctx context.Context) (*part, error) {
	env := slices.Clone(s.env)
	if s.metrics != "" {
		env = append(env, "VIGIL_METRICS_LISTEN="+s.metrics)
	}
	if s.temporal == nil {
		var ready struct{}
		return spawn(ctx, "vigil", append(env, "TEMPORAL_ADDRESS=", "VIGIL_LISTEN=127.0.0.1:0",
			"VIGIL_DATA_DIR="+filepath.Join(s.data.Path(), "up")), &ready, "up", "--json")
	}
	return spawn(ctx, "worker", env, nil, "worker", "--control", "--region", region)
}

// stop ends all parts, in the reverse order of their start.
func (s *cluster) stop(ctx context.Context) {
	for _, p := range []*part{s.worker, s.target, s.temporal} {
		if p != nil {
			p.stop()
		}
	}
	for _, db := range []*sql.DB{s.db, s.history} {
		if db != nil {
			_ = db.Close()
		}
	}
	if s.store != nil {
		_ = s.store.Close() //nolint:contextcheck // it bounds its own work
	}
	if s.postgres != nil {
		ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		_ = s.postgres.Stop(ctx)
	}
	if s.data != nil {
		_ = s.data.Close()
	}
}

// seed creates the checks; the sweep starts their loops.
func (s *cluster) seed(ctx context.Context, o LoopOptions) error {
	s.began = time.Now()
	_, org, err := s.store.CreateAccount(ctx, account.Organization{Name: "bench", Tier: account.TierEnterprise},
		account.User{Email: "bench@vigil.test", Name: "bench"}, nil)
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{"url": s.url})
	if err != nil {
		return err
	}
	plan := account.PlanOf(account.TierEnterprise, time.Second)
	for i := range o.Loops {
		at(ctx, "creating checks, %d of %d", i+1, o.Loops)
		check := vigil.Check{
			OrgID: org.ID, Name: fmt.Sprintf("bench %d", i), Type: vigil.TypeHTTP, Config: config, Target: "target",
			Interval: o.Interval, Regions: []string{region}, Enabled: true, Simultaneous: true,
		}
		if _, err := s.store.CreateCheck(ctx, check, plan, account.Allowance{}); err != nil {
			return err
		}
	}
	return s.settle(ctx, o)
}

// settle waits until every loop has a result, and until its turns cover as many slots as
// the budget demands.
func (s *cluster) settle(ctx context.Context, o LoopOptions) error {
	for {
		var probing int
		err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM check_regions WHERE last_slot IS NOT NULL`).Scan(&probing)
		if err != nil {
			return err
		}
		if probing >= o.Loops {
			at(ctx, "waiting until turns cover as many slots as they will")
			probed := time.Now()
			s.created = probed.Sub(s.began)
			err := s.settleTurns(ctx, o)
			s.settled = time.Since(probed)
			return err
		}
		at(ctx, "waiting for first results, %d of %d loops have one", probing, o.Loops)
		if err := timing.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// settleTurns waits until the turns of nearly every loop cover the same number of slots,
// for two intervals at least and for the time of the options at most.
func (s *cluster) settleTurns(ctx context.Context, o LoopOptions) error {
	began := time.Now()
	for {
		turns, err := s.turnSlots(ctx)
		if err != nil {
			return err
		}
		waited := time.Since(began)
		if waited >= max(o.Settle, 5*time.Second) || waited >= max(2*o.Interval, 5*time.Second) && turns.mostly == turns.most {
			return nil
		}
		if err := timing.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// turnSlots is how many slots the turns of loops cover.
type turnSlots struct {
	mean         float64
	mostly, most int // of 90 % of the loops at least, and of any
}

func (s *cluster) turnSlots(ctx context.Context) (turnSlots, error) {
	var t turnSlots
	err := s.db.QueryRowContext(ctx, `
		SELECT avg(turn_slots), percentile_disc(0.1) WITHIN GROUP (ORDER BY turn_slots), max(turn_slots)
		FROM check_regions`).Scan(&t.mean, &t.mostly, &t.most)
	return t, err
}

// measure lets the loops run and reads the figures.
func (s *cluster) measure(ctx context.Context, o LoopOptions) (report, error) {
	r := report{LoopOptions: o, cores: runtime.NumCPU()}
	var err error
	if r.before, r.after, _, err = readTwice(ctx, o.Measure, func() (costs, error) { return s.costs(ctx) }); err != nil {
		return r, err
	}
	if r.turns, err = s.turnSlots(ctx); err != nil {
		return r, err
	}
	err = s.db.QueryRowContext(ctx, `
		SELECT count(*), count(*) FILTER (WHERE NOT success),
			coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY late), 0),
			coalesce(percentile_cont(0.9) WITHIN GROUP (ORDER BY late), 0),
			coalesce(percentile_cont(0.99) WITHIN GROUP (ORDER BY late), 0),
			coalesce(max(late), 0)
		FROM (SELECT success, 1000 * extract(epoch FROM time - slot) AS late
			FROM results WHERE time >= $1 AND time < $2
				AND check_id NOT IN (SELECT id FROM checks WHERE drill_id IS NOT NULL)) AS seen`, r.before.at, r.after.at).
		Scan(&r.stored, &r.failed, &r.lateP50, &r.lateP90, &r.lateP99, &r.lateMax)
	return r, err
}
