package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresOptions are the choices of StartPostgres; the zero value will do.
type PostgresOptions struct {
	// BinDirs are the directories to look for postgres and initdb in, in order;
	// nil looks where Postgres is usually installed.
	BinDirs []string
	// Databases are created when missing.
	Databases []string
	// Log hears of a server that died and was started again; nil is silent.
	Log *slog.Logger
}

// Postgres is a running private server. When its process dies without having
// been told to, it is started again on the same port.
type Postgres struct {
	cluster cluster
	port    int
	log     *slog.Logger
	pid     atomic.Int64
	logFrom atomic.Int64  // where the log of the newest process begins
	stop    chan struct{} // closed by the first Stop
	halted  chan struct{} // closed when the last server process is gone
	stopped atomic.Bool
}

// StartPostgres runs the private Postgres of the data directory, which is
// created at the first start, and returns when it answers. The error is one
// sentence with the remedy.
func StartPostgres(ctx context.Context, data *DataDir, opts PostgresOptions) (*Postgres, error) {
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c, err := openCluster(ctx, data, opts.BinDirs)
	if err != nil {
		return nil, err
	}
	if err := c.clearLeftover(ctx); err != nil {
		return nil, err
	}
	p := &Postgres{cluster: c, log: log, stop: make(chan struct{}), halted: make(chan struct{})}
	if p.port, err = p.choosePort(ctx); err != nil {
		return nil, err
	}
	first := make(chan error, 1)
	go p.supervise(context.WithoutCancel(ctx), first) // ends with Stop, not with the start
	if err := p.awaitReady(ctx, first); err != nil {
		_ = p.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	if err := createDatabases(ctx, p.DSN("postgres"), opts.Databases); err != nil {
		_ = p.Stop(context.WithoutCancel(ctx))
		return nil, err
	}
	return p, nil
}

// DSN is the connection string of one of the server's databases. It holds the
// password.
func (p *Postgres) DSN(database string) string {
	dsn := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, p.cluster.password),
		Host:     p.Address(),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return dsn.String()
}

// Address is the host and port that the server listens on.
func (p *Postgres) Address() string { return net.JoinHostPort(loopback, strconv.Itoa(p.port)) }

// PID is the process id of the server, 0 while there is none.
func (p *Postgres) PID() int { return int(p.pid.Load()) }

// Version is the major version of the server.
func (p *Postgres) Version() int { return p.cluster.bin.Major }

// choosePort takes the port of the last start while it is free, so that a
// connection string noted down by a person goes on working.
func (p *Postgres) choosePort(ctx context.Context) (int, error) {
	file := filepath.Join(filepath.Dir(p.cluster.dir), "postgres.port")
	text, _ := os.ReadFile(file) //nolint:gosec // a fixed name inside our own directory
	if port, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && portFree(ctx, port) {
		return port, nil
	}
	ports, err := freePorts(ctx, 1)
	if err != nil {
		return 0, err
	}
	if err := writeWhole(file, strconv.Itoa(ports[0])+"\n"); err != nil {
		return 0, unusable(filepath.Dir(p.cluster.dir), "written to", err)
	}
	return ports[0], nil
}

// awaitReady connects until the server answers. A server that ends before that
// has said why in its log.
func (p *Postgres) awaitReady(ctx context.Context, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, p.DSN("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case exit := <-ended:
			if strings.Contains(p.lastWords(), "shared memory block") {
				continue // the last backends of a killed server are still leaving
			}
			return fmt.Errorf("the private Postgres did not start (%w): %s", exit, p.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("the private Postgres did not answer in time (%w): see %s", plainly(err), p.logFile())
		case <-tick.C:
		}
	}
}

func (p *Postgres) logFile() string {
	return filepath.Join(filepath.Dir(p.cluster.dir), "postgres.log")
}

// lastWords returns the last fatal line that the newest process logged. That it
// is still starting, as it says to whoever connects early, does not count.
func (p *Postgres) lastWords() string {
	file, err := os.Open(p.logFile())
	if err != nil {
		return "it left no log"
	}
	defer func() { _ = file.Close() }()
	words := "it gave no reason in " + p.logFile()
	text, _ := io.ReadAll(io.NewSectionReader(file, p.logFrom.Load(), logLimit))
	for line := range strings.Lines(string(text)) {
		if _, reason, ok := strings.Cut(line, "FATAL:"); ok && !strings.Contains(reason, "the database system is") {
			words = strings.TrimSpace(reason)
		}
	}
	return words
}

// Stop ends the server: the fast way, and when that takes more than ten seconds
// or ctx ends, the immediate way, after which Postgres recovers at its next
// start. It returns when no process of the server is left.
func (p *Postgres) Stop(ctx context.Context) error {
	if p.stopped.CompareAndSwap(false, true) {
		close(p.stop)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if p.endBy(ctx, fastStop) {
		return nil
	}
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancelLast()
	if p.endBy(last, immediateStop) {
		return errors.New("Postgres did not stop in time and was stopped the hard way: it recovers at its next start")
	}
	p.killAll()
	<-p.halted
	return errors.New("Postgres did not react and was killed: it recovers at its next start")
}
