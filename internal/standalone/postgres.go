// SPDX-License-Identifier: Apache-2.0

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
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresOptions configure StartPostgres; the zero value is usable.
type PostgresOptions struct {
	// BinDirs are searched for postgres and initdb, in order; nil means pgbin.Dirs.
	BinDirs []string
	// Small is for a machine with little memory.
	Small bool
	// Databases are created when missing.
	Databases []string
	// Log receives background errors, such as a server that was restarted; nil discards
	// them.
	Log *slog.Logger
}

// Postgres is a running private server. When its process ends without Stop, it is
// restarted on the same port.
type Postgres struct {
	cluster cluster
	port    int
	small   bool
	log     *slog.Logger
	pid     atomic.Int64
	logFrom atomic.Int64  // where the log of the newest process begins
	stop    chan struct{} // closed by the first Stop
	halted  chan struct{} // closed when the last server process is gone
	stopped atomic.Bool
}

// StartPostgres runs the private Postgres of the data directory and returns when it
// answers. The first start creates the cluster. The error is one sentence with the
// remedy.
func StartPostgres(ctx context.Context, data *DataDir, opts PostgresOptions) (*Postgres, error) {
	log := filepath.Join(data.Path(), logName)
	from := sizeOf(log)
	server, err := startPostgres(ctx, data, opts)
	if err != nil && textSaysFull(tailOf(log, from)) {
		err = fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	}
	return server, ExplainFull(data.Path(), err)
}

func startPostgres(ctx context.Context, data *DataDir, opts PostgresOptions) (*Postgres, error) {
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c, err := openCluster(ctx, data, opts.BinDirs)
	if err != nil {
		return nil, err
	}
	if c.account.drop {
		log.InfoContext(ctx, "Postgres refuses to run as root and runs as another user", "user", c.account.name, "programs", c.bin.Dir)
	}
	if err := c.stopLeftover(ctx); err != nil {
		return nil, err
	}
	p := &Postgres{cluster: c, small: opts.Small, log: log, stop: make(chan struct{}), halted: make(chan struct{})}
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

// DSN is the connection string of one of the server's databases, over its socket where that
// can be addressed: a round trip over loopback takes more CPU time. It holds the password.
func (p *Postgres) DSN(database string) string {
	dsn := url.URL{
		Scheme: "postgres",
		User:   url.UserPassword(superuser, p.cluster.password),
		Path:   "/" + database,
	}
	query := url.Values{"sslmode": {"disable"}}
	if len(p.socket()) > maxSocketPath || strings.Contains(p.cluster.dir, ",") { // which separates hosts
		dsn.Host = p.Address()
	} else {
		query.Set("host", p.cluster.dir)
		query.Set("port", strconv.Itoa(p.port))
	}
	// In a URI of Postgres a plus is a plus, and only %20 is a space.
	dsn.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return dsn.String()
}

// maxSocketPath is how many bytes the path of a socket may have on every system.
const maxSocketPath = 103

// socket is the path of the socket of the server, which is in its cluster.
func (p *Postgres) socket() string {
	return filepath.Join(p.cluster.dir, ".s.PGSQL."+strconv.Itoa(p.port))
}

// Address is the host and port that the server listens on.
func (p *Postgres) Address() string { return net.JoinHostPort(loopback, strconv.Itoa(p.port)) }

// PID is the process id of the server, 0 while there is none.
func (p *Postgres) PID() int { return int(p.pid.Load()) }

// Version is the major version of the server.
func (p *Postgres) Version() int { return p.cluster.bin.Major }

// choosePort takes the port of the last start if it is free, so that a connection
// string that somebody copied keeps working.
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
	if err := writeAtomic(file, strconv.Itoa(ports[0])+"\n"); err != nil {
		return 0, unusable(filepath.Dir(p.cluster.dir), "written to", err)
	}
	return ports[0], nil
}

// awaitReady connects until the server answers. The log of a server that ends before
// that has the reason.
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
			if strings.Contains(p.lastFatal(), "shared memory block") {
				continue // the last backends of a killed server are still ending
			}
			return fmt.Errorf("the private Postgres did not start (%w): %s", exit, p.lastFatal())
		case <-ctx.Done():
			return fmt.Errorf("the private Postgres did not answer in time (%w): see %s", rootCause(err), p.logFile())
		case <-tick.C:
		}
	}
}

func (p *Postgres) logFile() string {
	return filepath.Join(filepath.Dir(p.cluster.dir), logName)
}

// lastFatal returns the last fatal line that the newest process logged, except that it
// is still starting, which it logs for every early connection.
func (p *Postgres) lastFatal() string {
	last := "it gave no reason in " + p.logFile()
	for line := range strings.Lines(tailOf(p.logFile(), p.logFrom.Load())) {
		if _, reason, ok := strings.Cut(line, "FATAL:"); ok && !strings.Contains(reason, "the database system is") {
			last = strings.TrimSpace(reason)
		}
	}
	return last
}

// logName is the file of the server's log, in the data directory.
const logName = "postgres.log"

// sizeOf returns how many bytes a file has, 0 for one that does not exist.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tailOf returns what a log has from an offset on, or all of it when it was rotated.
func tailOf(path string, from int64) string {
	file, err := os.Open(path) //nolint:gosec // a fixed name inside our own directory
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	if sizeOf(path) < from {
		from = 0
	}
	text, _ := io.ReadAll(io.NewSectionReader(file, from, logLimit))
	return string(text)
}

// Stop ends the server: with a fast shutdown, and when that takes more than ten seconds
// or ctx ends, with an immediate one, after which Postgres recovers at its next start.
// It returns when no process of the server is left.
func (p *Postgres) Stop(ctx context.Context) error {
	if p.stopped.CompareAndSwap(false, true) {
		close(p.stop)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if p.signalAndWait(ctx, fastStop) {
		return nil
	}
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancelLast()
	if p.signalAndWait(last, immediateStop) {
		return errors.New("Postgres did not stop in time and was shut down immediately: it recovers at its next start")
	}
	p.killAll()
	<-p.halted
	return errors.New("Postgres did not respond and was killed: it recovers at its next start")
}
