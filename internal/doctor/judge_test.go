// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/doctor"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // the clock of the tests

func in(d time.Duration) *time.Time { return new(now.Add(d)) }

// Each judgement has a state, a sentence, and where something is wrong a command to paste.
func TestJudge(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		found                  []doctor.Finding
		state                  doctor.State
		message, remedy, other string
	}{
		"Config": {
			one(doctor.Config{Path: "/c", Mode: 0o600, Context: "prod", From: "context prod"}.Judge()),
			doctor.OK, "/c, mode 0600, context prod", "", "",
		},
		"ConfigThatOthersRead": {
			one(doctor.Config{Path: "/c d", Mode: 0o644, Context: "prod", From: "context prod"}.Judge()),
			doctor.Warn, "other users could read the keys", "chmod 600 '/c d'", "",
		},
		"ConfigOfAnotherServer": {
			one(doctor.Config{Path: "/c", Mode: 0o600, From: "VIGIL_URL"}.Judge()), doctor.OK, "the server comes from VIGIL_URL", "", "",
		},
		"NotLoggedIn": {
			one(doctor.Config{Path: "/c", Missing: true}.Judge()), doctor.Warn, "not logged in: /c does not exist", "vigil login URL", "",
		},
		"NotLoggedInBesideAnInstance": {
			one(doctor.Config{Path: "/c", Missing: true, Here: true}.Judge()), doctor.Warn, "not logged in", "vigil login", "",
		},
		"NoCurrentContext": {
			one(doctor.Config{Path: "/c", Mode: 0o600}.Judge()), doctor.Warn, "/c has no current context", "vigil context use NAME", "",
		},
		"BrokenConfig": {
			one(doctor.Config{Path: "/c", Problem: "/c is not valid: line 2"}.Judge()), doctor.Fail, "/c is not valid", "vigil context list", "",
		},
		"API": {
			one(doctor.API{URL: "https://v", Took: 41 * time.Millisecond, Interface: "v1", Build: "1", Own: "1"}.Judge()),
			doctor.OK, "https://v answers in 41ms, v1, same version as this program", "", "",
		},
		"APIOfAnotherVersion": {
			one(doctor.API{URL: "https://v", Interface: "v1", Build: "2", Own: "1"}.Judge()), doctor.OK, "version 2, this program is 1", "", "",
		},
		"APIGone": {
			one(doctor.API{URL: "http://127.0.0.1:1", Problem: "connection refused", Loopback: true, DataDir: "/d"}.Judge()),
			doctor.Fail, "http://127.0.0.1:1 does not answer: connection refused", "vigil up --data-dir /d", "",
		},
		"APIElsewhereGone": {
			one(doctor.API{URL: "https://v", Problem: "no answer in time"}.Judge()), doctor.Fail, "does not answer", "curl -sv https://v/health", "",
		},
		"NoAPI": {
			one(doctor.API{URL: "https://v", Interface: "v9"}.Judge()), doctor.Fail, "speaks another version", "vigil context list", "",
		},
		"APIWithoutEncryption": {
			one(doctor.API{URL: "http://v", Interface: "v1"}.Judge()), doctor.Warn, "not encrypted", "vigil login https://v", "",
		},
		"Key": {
			one(doctor.Key{
				Prefix: "vgl_8mKq2VxT", Scopes: []string{"read", "write"}, Expires: in(12*day + time.Hour), Now: now, Name: "ci", URL: "https://v",
			}.Judge()),
			doctor.OK, "vgl_8mKq2VxT, may: read write; expires in 12 days", "vigil api-key create ci --expires 90d", "",
		},
		"KeyThatEndsSoon": {
			one(doctor.Key{Expires: in(2 * time.Hour), Now: now, Name: "ci"}.Judge()),
			doctor.Warn, "expires in 2 hours", "vigil api-key create ci", "",
		},
		"KeyWithoutEnd": {one(doctor.Key{Prefix: "vgl_", Now: now}.Judge()), doctor.OK, "does not expire", "", ""},
		"NoKey": {
			one(doctor.Key{URL: "https://v", Missing: true}.Judge()),
			doctor.Fail, "there is no key for https://v", "vigil login https://v", "",
		},
		"RefusedKey": {
			one(doctor.Key{URL: "https://v", From: "VIGIL_API_KEY", Problem: "revoked"}.Judge()),
			doctor.Fail, "the key from VIGIL_API_KEY is refused: revoked", "vigil login https://v", "",
		},
		"Clock": {
			one(doctor.Clock{Ahead: 200 * time.Millisecond, Exact: 520 * time.Millisecond}.Judge()),
			doctor.OK, "less than 0.5 s apart", "", "",
		},
		"ClockBehind": {
			one(doctor.Clock{Ahead: 12 * time.Second, Exact: 500 * time.Millisecond}.Judge()),
			doctor.Warn, "12.0 s behind the server's", "timedatectl", "",
		},
		"ClockFarAhead": {
			one(doctor.Clock{Ahead: -2 * time.Minute}.Judge()),
			doctor.Fail, "120.0 s ahead of the server's", "timedatectl", "",
		},
		"Ready": {
			doctor.Readiness{
				Database: "ok", Migrations: "ok", Temporal: "ok", Probing: "ok", Regions: "3 of 33 online", PrivateTargets: "open",
			}.Judge(),
			doctor.OK, "are fine", "", "",
		},
		"DatabaseGone": {
			doctor.Readiness{Database: "unreachable", Migrations: "unknown"}.Judge(),
			doctor.Fail, "database is unreachable", "vigil doctor", "migrations",
		},
		"NotMigrated": {
			doctor.Readiness{Database: "ok", Migrations: "not all applied"}.Judge(),
			doctor.Fail, "not all applied", "vigil migrate", "",
		},
		"TemporalGone": {
			doctor.Readiness{Temporal: "unreachable"}.Judge(),
			doctor.Fail, "Temporal is unreachable", "vigil doctor", "",
		},
		"NoWorker": {
			doctor.Readiness{Regions: "0 of 33 online"}.Judge(),
			doctor.Fail, "no worker runs", "vigil worker --region all --control", "",
		},
		"Overload": {
			doctor.Readiness{Probing: "overloaded, slots are late: eu-central-fra (2.1 s)"}.Judge(),
			doctor.Warn, "slots are late", "vigil worker --region", "",
		},
		"PrivateTargets": {
			doctor.Readiness{PrivateTargets: "a proxy was noticed"}.Judge(),
			doctor.Warn, "a proxy was noticed", "VIGIL_ALLOWED_PRIVATE_CIDRS", "",
		},
		"UsedRegion": {
			doctor.Regions{All: 33, Offline: []string{"af-south-jnb", "eu-west-lon"}, Uses: map[string]int64{"af-south-jnb": 3}}.Judge(),
			doctor.Fail, "3 checks use af-south-jnb, which no worker serves", "vigil worker --region af-south-jnb", "eu-west-lon",
		},
		"UsedRegionOfAnInstance": {
			doctor.Regions{All: 33, Offline: []string{"af-south-jnb"}, Uses: map[string]int64{"af-south-jnb": 1}, Instance: true}.Judge(),
			doctor.Fail, "1 check uses af-south-jnb", "vigil up --regions all", "vigil worker",
		},
		"UnusedRegions": {
			doctor.Regions{All: 33, Offline: []string{"af-south-jnb"}}.Judge(),
			doctor.OK, "32 of 33 online; no check uses the others", "", "",
		},
		"WorkerClock": {
			doctor.Regions{ClockDifferences: map[string]float64{"eu-west-lon": -12.5}}.Judge(),
			doctor.Warn, "eu-west-lon differs by -12.5 s", "timedatectl", "",
		},
		"Ping": {
			doctor.Regions{Unpingable: []string{"b", "a"}}.Judge(),
			doctor.Warn, "cannot run in a, b", "ping_group_range", "",
		},
		"Blind": {
			doctor.Regions{All: 33, Blind: []string{"eu-central-fra"}}.Judge(),
			doctor.Warn, "lost its line in eu-central-fra", "VIGIL_CANARIES", "",
		},
		"Deliveries": {doctor.Deliveries(nil, now), doctor.OK, "none was given up", "", ""},
		"Exhausted": {
			doctor.Deliveries([]doctor.Exhausted{
				{Channel: "my hook", Count: 4, Since: now.Add(-26 * time.Hour), Reason: "connection refused"},
			}, now),
			doctor.Warn, `4 messages to the channel "my hook" given up in the last 26 hours (connection refused)`,
			"vigil delivery list --channel 'my hook' --status exhausted", "",
		},
		"ExhaustedBefore": {
			doctor.Deliveries([]doctor.Exhausted{{Channel: "hook", Count: 1, More: true, Since: now, Works: true}}, now),
			doctor.OK, "more than 1 messages", "vigil delivery list --channel hook", "vigil channel test",
		},
		"Channels": {doctor.Channels(nil, 2), doctor.OK, "2 channels, none disabled", "", ""},
		"DisabledChannel": {
			doctor.Channels([]doctor.Channel{{Name: "hook", Reason: "410 Gone"}}, 2),
			doctor.Warn, `the channel "hook" was disabled: 410 Gone`, "vigil channel enable hook", "",
		},
		"Budget": {
			one(doctor.Budget{Used: 1920, Limit: 50_000}.Judge()),
			doctor.OK, "1920 of 50000 executions an hour", "", "",
		},
		"SpentBudget": {
			one(doctor.Budget{Used: 45_000, Limit: 50_000}.Judge()),
			doctor.Warn, "45000 of 50000", "vigil usage", "",
		},
		"NoBudget": {one(doctor.Budget{Used: 45_000}.Judge()), doctor.OK, "no limit", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged(t, test.found, test.state, test.message, test.remedy, test.other)
		})
	}
}

func one(f doctor.Finding) []doctor.Finding { return []doctor.Finding{f} }

// judged checks that there is one finding, with a state, a part of its message, and a part of
// its remedies. What must not be is nowhere.
func judged(t *testing.T, found []doctor.Finding, state doctor.State, message, remedy, never string) {
	t.Helper()
	if len(found) != 1 || found[0].State != state || !strings.Contains(found[0].Message, message) || found[0].Part == "" {
		t.Fatalf("found %+v; want %s: %s", found, state, message)
	}
	remedies := strings.Join(found[0].Remedies, "\n")
	if !strings.Contains(remedies, remedy) || remedy == "" && remedies != "" || state != doctor.OK && remedies == "" {
		t.Errorf("the remedies are %q; want %q", remedies, remedy)
	}
	if never != "" && strings.Contains(found[0].Message+remedies, never) {
		t.Errorf("%q is in %q and %q", never, found[0].Message, remedies)
	}
}

func TestJudgeMachine(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	key := func(change func(*doctor.SecretKey)) []doctor.Finding {
		k := doctor.SecretKey{Path: "/d/secret.key", Needed: true, Mode: 0o600, Made: now.Add(-time.Hour), Now: now}
		change(&k)
		return one(k.Judge())
	}
	for name, test := range map[string]struct {
		found                  []doctor.Finding
		state                  doctor.State
		message, remedy, never string
	}{
		"Instance": {
			one(doctor.Instance{DataDir: "/d", Running: true, PID: 7, Version: "1", Started: now.Add(-3 * time.Hour), Now: now}.Judge()),
			doctor.OK, "process 7, version 1, for 3 hours", "", "",
		},
		"KilledInstance": {
			one(doctor.Instance{DataDir: "/d", PID: 7}.Judge()),
			doctor.Fail, "process 7, has ended without an orderly stop", "vigil up --data-dir /d", "",
		},
		"NoInstance": {
			one(doctor.Instance{DataDir: "/d"}.Judge()),
			doctor.Warn, "does not run", "vigil up --data-dir /d", "",
		},
		"Settings": {
			doctor.Settings([]string{`VIGIL_LISTEN (--listen) is "8080"`}),
			doctor.Fail, "VIGIL_LISTEN", "unset VIGIL_LISTEN", "",
		},
		"Postgres": {
			one(doctor.Postgres{Private: true, Dir: "/pg", Major: 16}.Judge()),
			doctor.OK, "version 16 in /pg", "", "",
		},
		"NoPostgres": {
			one(doctor.Postgres{Private: true, Problem: "no Postgres was found"}.Judge()),
			doctor.Fail, "no Postgres", "apt-get install postgresql", "",
		},
		"OwnPostgres": {one(doctor.Postgres{Major: 16}.Judge()), doctor.OK, "version 16, of DATABASE_URL", "", ""},
		"OwnPostgresGone": {
			one(doctor.Postgres{Problem: "refused"}.Judge()),
			doctor.Fail, "refused", `psql "$DATABASE_URL"`, "apt-get",
		},
		"Disk": {
			one(doctor.Disk{Path: "/d", Free: 20 * gib, Total: 250 * gib}.Judge()),
			doctor.OK, "20 GiB free of 250 GiB in /d", "", "",
		},
		"LittleDisk": {
			one(doctor.Disk{Path: "/d", Free: gib, Total: 250 * gib}.Judge()),
			doctor.Warn, "1.0 GiB free", "VIGIL_RESULT_RETENTION", "",
		},
		"FullDisk": {
			one(doctor.Disk{Path: "/d", Free: gib / 10, Total: 250 * gib}.Judge()),
			doctor.Fail, "102 MiB free", "du -xh /d", "",
		},
		"DataDir": {
			one(doctor.DataDir{Path: "/d", Mode: 0o700, Owner: "ada", User: "ada"}.Judge()),
			doctor.OK, "/d, of the user ada, mode 0700", "", "",
		},
		"OpenDataDir": {
			one(doctor.DataDir{Path: "/d", Mode: 0o777, Owner: "ada", User: "ada"}.Judge()),
			doctor.Fail, "other users can exchange", "chmod go-w /d", "",
		},
		"DataDirOfOther": {
			one(doctor.DataDir{Path: "/d", Mode: 0o700, Owner: "ada", User: "bob"}.Judge()),
			doctor.Warn, "run as bob", "sudo -u ada vigil doctor --data-dir /d", "",
		},
		"NoDataDir": {
			one(doctor.DataDir{Path: "/d", Missing: true}.Judge()),
			doctor.OK, "does not exist yet", "", "",
		},
		"UsedPort": {
			doctor.Ports([]doctor.Port{
				{What: "the API", Setting: "VIGIL_LISTEN", Address: "127.0.0.1:8080", Problem: "in use", Next: "127.0.0.1:8181"},
			}),
			doctor.Fail, "the API cannot listen on 127.0.0.1:8080: in use", "VIGIL_LISTEN=127.0.0.1:8181 vigil up", "",
		},
		"FreePorts": {
			doctor.Ports([]doctor.Port{{What: "the API", Address: "127.0.0.1:8080"}, {What: "Temporal", Address: ":7233", Ours: true}}),
			doctor.OK, "127.0.0.1:8080 is free for the API, :7233 serves Temporal", "", "",
		},
		"SilentPort": {
			doctor.Ports([]doctor.Port{{What: "Temporal", Address: ":7233", Ours: true, Problem: "refused"}}),
			doctor.Fail, "Temporal does not answer on :7233", "ss -ltnp", "",
		},
		"NewKey": {key(func(*doctor.SecretKey) {}), doctor.OK, "no backup is known", "vigil backup", ""},
		"UnsavedKey": {
			key(func(k *doctor.SecretKey) { k.Made = now.Add(-8 * 24 * time.Hour) }),
			doctor.Warn, "no backup is known", "vigil backup", "",
		},
		"SavedKey": {
			key(func(k *doctor.SecretKey) { k.Backup, k.Into = now.Add(-72*time.Hour), "/b" }),
			doctor.OK, "is 3 days old: /b", "", "",
		},
		"OldBackup": {
			key(func(k *doctor.SecretKey) { k.Backup = now.Add(-60 * 24 * time.Hour) }),
			doctor.Warn, "60 days old", "vigil backup", "",
		},
		"OpenKey": {
			key(func(k *doctor.SecretKey) { k.Mode = 0o644 }),
			doctor.Fail, "mode 0644", "chmod 600 /d/secret.key", "",
		},
		"LostKey": {
			key(func(k *doctor.SecretKey) { k.Missing = true }),
			doctor.Fail, "is missing", "tar -xOf FILE.backup secret.key", "",
		},
		"NoKeyYet": {
			key(func(k *doctor.SecretKey) { k.Missing, k.Needed = true, false }),
			doctor.OK, "makes one", "", "",
		},
		"GivenKey":      {key(func(k *doctor.SecretKey) { k.Given = true }), doctor.OK, "from VIGIL_SECRET_KEY", "", ""},
		"Rights":        {one(doctor.DatabaseRights{User: "vigil", Migrates: true, Tables: 9}.Judge()), doctor.OK, "may migrate", "", ""},
		"RightsOfARole": {one(doctor.DatabaseRights{User: "vigil", Tables: 9}.Judge()), doctor.OK, "may not migrate", "", ""},
		"RightsOfAll":   {one(doctor.DatabaseRights{User: "vigil", Tables: 9, Superuser: true}.Judge()), doctor.OK, "is a superuser", "", ""},
		"RightsMissing": {one(doctor.DatabaseRights{User: "vigil", Tables: 9, Closed: 2}.Judge()), doctor.Fail, "2 of 9 tables", "GRANT", ""},
		"Token":         {one(credential(29 * 24 * time.Hour)), doctor.OK, "of vigil-api, may vigil:write, ends in 29 days", "", ""},
		"TokenEndsSoon": {one(credential(3 * 24 * time.Hour)), doctor.Warn, "ends in 3 days", "vigil doctor", ""},
		"TokenHasEnded": {one(credential(-time.Hour)), doctor.Fail, "has ended", "vigil doctor", ""},
		"CertificateEnds": {
			one(doctor.Credential{Part: "database certificate", Ends: time.Now().Add(time.Hour), InFile: true}.Judge(time.Now())),
			doctor.Warn, "ends in", "in its file", "",
		},
		"TokenWithoutEnd":  {one(doctor.Credential{Part: "temporal token"}.Judge(time.Now())), doctor.OK, "does not end", "", ""},
		"Standby":          {one(doctor.Standby{Reached: true}.Judge()), doctor.OK, "all that the database has written", "", ""},
		"StandbyFollows":   {one(doctor.Standby{Behind: 2 * time.Second}.Judge()), doctor.OK, "follows", "", ""},
		"StandbyBehind":    {one(doctor.Standby{Behind: 2 * time.Minute}.Judge()), doctor.Warn, "2 min old", "pg_stat_replication", ""},
		"StandbyOfNothing": {one(doctor.Standby{}.Judge()), doctor.Warn, "how much is not known", "pg_stat_replication", ""},
		"StandbyGone":      {one(doctor.Standby{Problem: "refused"}.Judge()), doctor.Warn, "refused", "VIGIL_READ_DATABASE_URL", ""},
		"Migrations":       {one(doctor.Migrations{Schema: "1012"}.Judge()), doctor.OK, "schema 1012", "", ""},
		"NotMigrated": {
			one(doctor.Migrations{Problem: "The database lacks 2 migrations.", Pending: true}.Judge()),
			doctor.Fail, "lacks 2", "vigil migrate", "",
		},
		"BeforeTheBaseline": {
			one(doctor.Migrations{Problem: "The database vigil is of a version from before the baseline.", Former: true}.Judge()),
			doctor.Fail, "before the baseline", "vigil apply -f vigil.yaml", "",
		},
		"Temporal": {
			one(doctor.Temporal{Address: ":7233", Namespace: "vigil", Retention: 72 * time.Hour, Wanted: 72 * time.Hour}.Judge()),
			doctor.OK, "namespace vigil, closed workflows are kept for 3 days", "", "",
		},
		"TemporalGone": {
			one(doctor.Temporal{Address: ":7233", Problem: "refused"}.Judge()),
			doctor.Fail, ":7233 does not answer: refused", "temporal operator cluster health --address :7233", "",
		},
		"NoNamespace": {
			one(doctor.Temporal{Address: ":7233", Namespace: "vigil", Missing: true}.Judge()),
			doctor.Fail, "has no namespace vigil", "vigil temporal setup", "",
		},
		"NoAttributes": {
			one(doctor.Temporal{Namespace: "vigil", Attributes: []string{"VigilCheck"}}.Judge()),
			doctor.Fail, "lacks the search attributes VigilCheck", "vigil temporal setup", "",
		},
		"OtherRetention": {
			one(doctor.Temporal{Namespace: "vigil", Retention: 24 * time.Hour, Wanted: 72 * time.Hour}.Judge()),
			doctor.Warn, "for 24 hours; VIGIL_TEMPORAL_RETENTION is 3 days", "vigil temporal setup", "",
		},
		"ICMP":         {one(doctor.ICMP(true)), doctor.OK, "permitted", "", ""},
		"NoICMP":       {one(doctor.ICMP(false)), doctor.Warn, "forbidden", "ping_group_range", ""},
		"NoMailServer": {one(doctor.Mail{Dir: "/d/mail"}.Judge()), doctor.OK, "written to /d/mail", "", ""},
		"Mail":         {one(doctor.Mail{Host: "mx:25"}.Judge()), doctor.OK, "mx:25 accepts the login", "", ""},
		"MailRefused": {
			one(doctor.Mail{Host: "mx:25", Problem: "refused"}.Judge()),
			doctor.Fail, "mx:25 cannot be used: refused", "nc -vz mx 25", "",
		},
		"NoMetrics": {one(doctor.Metrics{}.Judge()), doctor.OK, "not served", "", ""},
		"Metrics":   {one(doctor.Metrics{URL: "http://m", Running: true}.Judge()), doctor.OK, "http://m", "", ""},
		"MetricsGone": {
			one(doctor.Metrics{URL: "http://m", Running: true, Problem: "refused"}.Judge()),
			doctor.Fail, "does not answer: refused", "curl -s http://m", "",
		},
		"Applied": {
			one(doctor.Applied{Path: "/f", At: now.Add(-5 * time.Minute), Now: now}.Judge()),
			doctor.OK, "/f was applied 5 min ago", "", "",
		},
		"NotApplied": {
			one(doctor.Applied{Path: "/f", Now: now}.Judge()),
			doctor.Warn, "not applied yet", "vigil plan -f /f", "",
		},
		"InvalidFile": {
			one(doctor.Applied{Path: "/f", Problems: []string{"web.yaml:14:3: url", "b"}, Now: now}.Judge()),
			doctor.Fail, "web.yaml:14:3: url (and 1 more error)", "vigil validate -f /f", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judged(t, test.found, test.state, test.message, test.remedy, test.never)
		})
	}
}

// credential is a token that ends after a time.
func credential(left time.Duration) doctor.Finding {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	return doctor.Credential{Part: "temporal token", Whose: "vigil-api", May: "vigil:write", Ends: now.Add(left)}.Judge(now)
}
