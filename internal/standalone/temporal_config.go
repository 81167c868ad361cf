// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"go.temporal.io/server/chasm/lib/activity"
	temporalcluster "go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/primitives"

	"github.com/vigil-monitor/vigil/internal/pgreload"
)

const (
	clusterName   = "active"
	historyShards = 8 // fixed for the life of a database

	storeName      = "store"
	visibilityName = "visibility"

	// Connections of each pool, see TemporalOptions.conns. Every one of the four services has both
	// pools, and the whole must fit, with Vigil's own, into an untouched Postgres's hundred.
	leastConns, mostConns = 8, 16
	connsPerProcessor     = 2
	visibilityConns       = 4
	smallConns            = 4

	// connIdle is how long a connection of a pool stays open unused: at rest each costs
	// about 2 MB of memory in Postgres, and a burst opens several.
	connIdle = 15 * time.Second
	// startLimit is how long each of the server's services may take to start. The server
	// allows 15 s, or twice the time for a membership to form: too little on a machine whose
	// processors are taken ten times over, where it took 20 s.
	startLimit = time.Minute

	// smallCache is how many entries the server's cache of workflows has on a small machine.
	smallCache = 256

	// shardWrites is how many writes of a history shard are under way at a time.
	shardWrites = 8

	// unlimited is a rate that is never reached: the limits protect tenants of a
	// shared cluster from each other, and here there is one.
	unlimited = 1_000_000
)

// stores configures the server's two databases.
type stores struct{ store, visibility *config.SQL }

// newStores configures the two databases. Temporal gets a connect function instead of a
// host and a password, so that TLS, sockets and multiple hosts of the platform's
// connection string apply to it too, with files that are read again for each connection.
func newStores(dsn string, conns int, log *slog.Logger) (stores, error) {
	parsed, err := parseDSN(dsn)
	if err != nil {
		return stores{}, err
	}
	address, err := pgreload.Address("those of DATABASE_URL", dsn, log)
	if err != nil {
		return stores{}, err
	}
	at := func(name string, conns int) *config.SQL {
		return &config.SQL{
			PluginName:      postgresql.PluginNamePGX,
			ConnectProtocol: "tcp",
			ConnectAddr:     parsed.Host,
			DatabaseName:    name,
			Connect:         func(*config.SQL) (*sqlx.DB, error) { return connect(address, name, conns) },
		}
	}
	store, visibility := TemporalDatabases(parsed.Database)
	return stores{store: at(store, conns), visibility: at(visibility, min(conns, visibilityConns))}, nil
}

// conns is how many connections each service has to the store. A write waits for the disk most of its
// time, so that two processors keep few of them busy, and each takes up to 4 MB of memory while
// thousands of workflows start.
func (o *TemporalOptions) conns() int {
	if o.Small {
		return smallConns
	}
	return min(max(leastConns, connsPerProcessor*o.Processors), mostConns)
}

// serverConfig is the static configuration: the frontend where the operator
// wants it, the other services on ports of the loopback address.
func serverConfig(s stores, front *net.TCPAddr, address string, ports []int) *config.Config {
	internal := func(port int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: loopback}}
	}
	return &config.Config{
		Global: config.Global{Membership: config.Membership{MaxJoinDuration: startLimit / 2}},
		Persistence: config.Persistence{
			DefaultStore:     storeName,
			VisibilityStore:  visibilityName,
			NumHistoryShards: historyShards,
			DataStores: map[string]config.DataStore{
				storeName:      {SQL: s.store},
				visibilityName: {SQL: s.visibility},
			},
		},
		ClusterMetadata: &temporalcluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]temporalcluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			string(primitives.FrontendService): {RPC: config.RPC{GRPCPort: front.Port, BindOnIP: front.IP.String()}},
			string(primitives.HistoryService):  internal(ports[0]),
			string(primitives.MatchingService): internal(ports[1]),
			string(primitives.WorkerService):   internal(ports[2]),
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
		PublicClient: config.PublicClient{HostPort: address},
	}
}

// dynamicSettings is a dynamic configuration that never changes.
type dynamicSettings = dynamicconfig.StaticClient

// deliveryQueue is the task queue whose tasks have a fairness key.
const deliveryQueue = "delivery"

// dynamicConfig are the settings for a load of many short turns. The keys are the
// server's own, so that one that is removed does not compile.
func dynamicConfig() dynamicSettings {
	settings := dynamicSettings{
		dynamicconfig.EnableActivityEagerExecution.Key():      true,
		dynamicconfig.EnableCancelWorkerPollsOnShutdown.Key(): true,
		activity.Enabled.Key():                                true,

		// One partition: a second one only forwards tasks to the first.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

		// The connections of a process that is frozen or gone are closed within 5 s, before a
		// workflow task of a loop times out: its next attempt does not go to a poll that the
		// process left open.
		dynamicconfig.KeepAliveTime.Key():    "2s",
		dynamicconfig.KeepAliveTimeout.Key(): "3s",

		// Organizations take turns when the delivery workers have no place left.
		dynamicconfig.MatchingEnableFairness.Key(): []dynamicconfig.ConstrainedValue{
			{Constraints: dynamicconfig.Constraints{TaskQueueName: deliveryQueue}, Value: true},
		},

		// Four services read the namespaces; they hardly ever change.
		dynamicconfig.NamespaceCacheRefreshInterval.Key(): "10s",

		// A loop that is touched often should stay in memory. One whose turns take many
		// minutes need not: reading it again costs 2 ms in many minutes.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 128_000,
		dynamicconfig.HistoryCacheTTL.Key():              "5m",
		dynamicconfig.HistoryCacheBackgroundEvict.Key(): map[string]any{
			"Enabled": true, "LoopInterval": "30s", "MaxEntryPerCall": 1024,
		},

		// Writes of a shard wait for the disk together instead of one after the other. The
		// limit of one is for stores whose concurrent writes conflict; in Postgres they
		// share the lock of the shard's row.
		dynamicconfig.ShardIOConcurrency.Key(): shardWrites,
		// A write that fails, such as the second of two starts of one workflow, can hide the
		// tasks of a later one that was faster: the queue reads up to the older one, and
		// nothing wakes it again before its next poll, which is a minute away by default.
		dynamicconfig.TransferProcessorMaxPollInterval.Key(): "1s",
		dynamicconfig.TimerProcessorMaxPollInterval.Key():    "10s",

		// Schedules are not used, and the scanner looks for damage that only other
		// stores can have.
		dynamicconfig.WorkerEnableScheduler.Key():    false,
		dynamicconfig.FrontendEnableSchedules.Key():  false,
		dynamicconfig.HistoryScannerEnabled.Key():    false,
		dynamicconfig.ExecutionsScannerEnabled.Key(): false,

		// Nothing is replicated to or from other clusters.
		dynamicconfig.XDCCacheMaxSizeBytes.Key():                                1,
		dynamicconfig.ReplicationProcessorSchedulerWorkerCount.Key():            1,
		dynamicconfig.ReplicationLowPriorityProcessorSchedulerWorkerCount.Key(): 1,

		// A single host has no other to hand its traffic to.
		dynamicconfig.FrontendShutdownDrainDuration.Key():           time.Duration(0),
		dynamicconfig.FrontendShutdownFailHealthCheckDuration.Key(): time.Duration(0),
		dynamicconfig.HistoryShutdownDrainDuration.Key():            time.Duration(0),
		dynamicconfig.MatchingShutdownDrainDuration.Key():           time.Duration(0),
	}
	for _, key := range slices.Concat(requestRates(), persistenceRates()) {
		settings[key] = unlimited
	}
	return settings
}

// size gives caches and goroutines their number, which a cluster has by its own hosts.
//
// Each goroutine of a scheduler waits for tasks of a queue, also where there are none. A task holds a
// connection most of its time, so that more of them than connections would wait anyway.
func (o *TemporalOptions) size(s dynamicSettings) {
	s[dynamicconfig.WorkerStickyCacheSize.Key()] = o.CachedWorkflows
	if o.CachedStates > 0 {
		s[dynamicconfig.HistoryCacheHostLevelMaxSize.Key()] = o.CachedStates
	}
	if o.Small { // a loop whose state is not kept is read again at its turn
		s[dynamicconfig.HistoryCacheTTL.Key()] = "1m"
		s[dynamicconfig.HistoryCacheHostLevelMaxSize.Key()] = smallCache
		s[dynamicconfig.EventsCacheMaxSizeBytes.Key()] = 64 << 10
	}
	for _, workers := range []dynamicconfig.Key{
		dynamicconfig.TransferProcessorSchedulerWorkerCount.Key(), dynamicconfig.TimerProcessorSchedulerWorkerCount.Key(),
		dynamicconfig.VisibilityProcessorSchedulerWorkerCount.Key(),
	} {
		s[workers] = o.conns()
	}
}

// DynamicSettings are the dynamic settings of the embedded server by key, which a
// separate cluster should have too, without what follows this process: see TemporalOptions.
func DynamicSettings() map[string]any {
	settings := make(map[string]any)
	for key, value := range dynamicConfig() {
		settings[key.String()] = value
	}
	return settings
}

func requestRates() []dynamicconfig.Key {
	return []dynamicconfig.Key{
		dynamicconfig.FrontendRPS.Key(),
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key(),
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(),
		dynamicconfig.FrontendMaxConcurrentLongRunningRequestsPerInstance.Key(),
		dynamicconfig.HistoryRPS.Key(),
		dynamicconfig.MatchingRPS.Key(),
	}
}

func persistenceRates() []dynamicconfig.Key {
	return []dynamicconfig.Key{
		dynamicconfig.FrontendPersistenceMaxQPS.Key(),
		dynamicconfig.HistoryPersistenceMaxQPS.Key(),
		dynamicconfig.MatchingPersistenceMaxQPS.Key(),
		dynamicconfig.WorkerPersistenceMaxQPS.Key(),
		dynamicconfig.VisibilityPersistenceMaxReadQPS.Key(),
		dynamicconfig.VisibilityPersistenceMaxWriteQPS.Key(),
	}
}
