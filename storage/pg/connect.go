// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/vigil-monitor/vigil/internal/pgreload"
	"github.com/vigil-monitor/vigil/internal/reload"
)

// Limits of connections. A server that refuses is known in milliseconds; one that does not
// answer, in seconds.
const (
	connectTimeout  = 5 * time.Second // for one address; connect_timeout of the address replaces it
	livenessTimeout = 2 * time.Second // for the answer to a ping of an idle connection
	pingAfterIdle   = time.Second
	// A connection that was idle for connIdle is closed by the next look at the pool: at
	// rest each costs about 3 MB of memory in Postgres, and a burst opens several. After a
	// look the pool uses every connection once, so that looks must be further apart.
	connIdle      = 20 * time.Second
	connIdleCheck = 30 * time.Second

	cancelTimeout = time.Second // for a request to cancel a query
	closeTimeout  = time.Second // for the goodbye of a connection that was interrupted

	// Keepalives find a lost host on an idle connection within 11 s, and tcpUserTimeout
	// finds one that does not acknowledge what was sent.
	keepAliveIdle     = 5 * time.Second
	keepAliveInterval = 2 * time.Second
	keepAliveCount    = 3
	tcpUserTimeout    = 10 * time.Second
)

// SessionLimits are the time limits that Postgres itself holds. They end what a lost or
// frozen client leaves behind, in particular its locks. Zero is no limit.
type SessionLimits struct {
	Statement, Lock, IdleInTransaction time.Duration
}

//nolint:gochecknoglobals // constants that Go cannot spell as such
var (
	// ordinaryLimits are those of the API and the background work. The limit of a
	// statement exceeds queryLimit, by which a client cancels its query.
	ordinaryLimits = SessionLimits{Statement: queryLimit + 5*time.Second, Lock: 5 * time.Second, IdleInTransaction: 5 * time.Second}
	// ProbingLimits are those of results and leases. A lock is not waited for: its rows
	// are set aside.
	probingLimits = SessionLimits{Statement: CommitLimit, Lock: 200 * time.Millisecond, IdleInTransaction: 5 * time.Second}
	// migrationLimits leave statements of a migration the time that they need. The
	// connection with the migration lock is idle in its transaction meanwhile.
	migrationLimits = SessionLimits{}
)

// parameters are the limits as settings of Postgres.
func (l SessionLimits) parameters() map[string]string {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	return map[string]string{
		"statement_timeout": ms(l.Statement), "lock_timeout": ms(l.Lock),
		"idle_in_transaction_session_timeout": ms(l.IdleInTransaction),
	}
}

// setLocal is the SQL that sets the limits for the current transaction.
func (l SessionLimits) setLocal() string {
	return fmt.Sprintf("SET LOCAL statement_timeout = %d; SET LOCAL lock_timeout = %d; SET LOCAL idle_in_transaction_session_timeout = %d",
		l.Statement.Milliseconds(), l.Lock.Milliseconds(), l.IdleInTransaction.Milliseconds())
}

// SelectLocal is setLocal as one statement, which a batch can prepare.
func (l SessionLimits) SelectLocal() string {
	var calls []string
	for name, value := range l.parameters() {
		calls = append(calls, fmt.Sprintf("set_config('%s', '%s', true)", name, value))
	}
	slices.Sort(calls)
	return "SELECT " + strings.Join(calls, ", ")
}

// serverKeepalives are the settings by which the server finds a lost client. They have no
// effect on Unix sockets.
func serverKeepalives() map[string]string {
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }
	return map[string]string{
		"tcp_keepalives_idle": seconds(keepAliveIdle), "tcp_keepalives_interval": seconds(keepAliveInterval),
		"tcp_keepalives_count": strconv.Itoa(keepAliveCount),
		"tcp_user_timeout":     strconv.FormatInt(tcpUserTimeout.Milliseconds(), 10),
	}
}

// connector makes the pools of a store.
type connector struct {
	config *pgxpool.Config // of the address, with the limits of the client side
	// address is what the address says with the files that it names.
	address *reload.Value[*pgx.ConnConfig]
	pooled  bool // a transaction-pooling proxy is in front of Postgres
	// checksClient: the server can look for a lost client while it runs a query.
	checksClient bool
	only         *oneServer // nil: connections may lead to different servers
	log          *slog.Logger
}

// newConnector reads the address of a database.
func newConnector(dsn string, log *slog.Logger) (*connector, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the database address: %w", err) // pgx masks the password in it
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.ConnConfig.DialFunc = dial
	config.ConnConfig.Tracer = queryLimiter{}
	// GMT is UTC, and the one name that Postgres knows on a machine without time zones.
	config.ConnConfig.RuntimeParams["timezone"] = "GMT"
	config.ConnConfig.RuntimeParams["application_name"] = "vigil"
	address, err := pgreload.Address("those of the database address", dsn, log)
	if err != nil {
		return nil, fmt.Errorf("read the database address: %w", err)
	}
	return &connector{config: config, address: address, log: log}, nil
}

// renew gives a connection that is about to be made what the files of the address hold now: certificates, keys, authorities
// and passwords, which others replace before they end.
func (c *connector) renew(ctx context.Context, config *pgx.ConnConfig) {
	now := c.address.Get(ctx)
	config.TLSConfig, config.Fallbacks, config.Password = now.TLSConfig, now.Fallbacks, now.Password
}

// pool returns a pool that opens connections when they are needed. Session limits are
// startup parameters, which a proxy would refuse or lose: there, transactions set them.
// A limit in the address of the database stays.
func (c *connector) pool(ctx context.Context, conns int, limits SessionLimits, mode pgx.QueryExecMode) (*pgxpool.Pool, error) {
	config := c.config.Copy()
	config.MaxConns, config.MinConns, config.MinIdleConns = int32(conns), 0, 0 //nolint:gosec // at most 1,000
	if c.pooled && mode == pgx.QueryExecModeCacheStatement {
		mode = pgx.QueryExecModeCacheDescribe // a prepared statement stays with one connection to the server
	}
	config.ConnConfig.DefaultQueryExecMode = mode
	config.MaxConnIdleTime, config.HealthCheckPeriod = connIdle, connIdleCheck
	if !c.pooled {
		addMissing(config.ConnConfig.RuntimeParams, limits.parameters())
		addMissing(config.ConnConfig.RuntimeParams, serverKeepalives())
		if c.checksClient {
			addMissing(config.ConnConfig.RuntimeParams, clientCheck())
		}
	}
	config.BeforeConnect = func(ctx context.Context, config *pgx.ConnConfig) error {
		c.renew(ctx, config)
		return nil
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID,
			Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		if c.only != nil {
			return c.only.admit(ctx, conn, mode)
		}
		return nil
	}
	var pool *pgxpool.Pool
	config.ShouldPing = func(ctx context.Context, idle pgxpool.ShouldPingParams) bool {
		return !c.alive(ctx, pool, idle)
	}
	config.PingTimeout = livenessTimeout
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return pool, nil
}

// alive pings a connection that was idle. When it does not answer, the other idle ones
// likely do not either: all are replaced. The pool then pings again, which fails at once,
// and opens another connection.
func (c *connector) alive(ctx context.Context, pool *pgxpool.Pool, idle pgxpool.ShouldPingParams) bool {
	if idle.IdleDuration < pingAfterIdle {
		return true
	}
	bounded, cancel := context.WithTimeout(ctx, livenessTimeout)
	defer cancel()
	err := idle.Conn.Ping(bounded)
	if err != nil && ctx.Err() == nil {
		c.log.WarnContext(ctx, "a database connection does not answer; the idle ones are replaced", "error", err)
		pool.Reset()
	}
	return err == nil
}

func addMissing(into, from map[string]string) {
	for name, value := range from {
		if _, has := into[name]; !has {
			into[name] = value
		}
	}
}

// clientCheck is the setting by which the server looks for a lost client while it runs a
// query or waits for a lock.
func clientCheck() map[string]string {
	return map[string]string{"client_connection_check_interval": strconv.FormatInt(keepAliveIdle.Milliseconds(), 10)}
}

// dial connects to Postgres, over TCP with keepalives. A dial that is not part of
// connecting is that of a request to cancel a query.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	connecting := ctx.Value(connectingKey{}) != nil
	dialer := net.Dialer{
		Control:         limitUnacknowledged,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount},
	}
	if !connecting {
		dialer.Timeout = cancelTimeout
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if !connecting {
		return conn, conn.SetDeadline(time.Now().Add(cancelTimeout)) //nolint:forbidigo // a deadline of the network
	}
	return hastyConn{conn}, nil
}

// hastyConn bounds how long pgx says goodbye on a connection that it has given up, since
// its place in the pool stays taken meanwhile: 15 s otherwise. For nothing else does pgx
// set a deadline in the future.
type hastyConn struct{ net.Conn }

// SetDeadline sets the deadline, at most closeTimeout from now.
func (c hastyConn) SetDeadline(t time.Time) error {
	if latest := time.Now().Add(closeTimeout); t.After(latest) { //nolint:forbidigo // a deadline of the network
		t = latest
	}
	return c.Conn.SetDeadline(t)
}

// connect opens one connection outside of the pools, without session limits.
func (c *connector) connect(ctx context.Context) (*pgx.Conn, error) {
	config := c.config.ConnConfig.Copy()
	c.renew(ctx, config)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return pgx.ConnectConfig(ctx, config)
}
