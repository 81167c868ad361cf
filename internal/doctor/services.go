// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"
	"time"
)

// Migrations are those of the database's schema.
type Migrations struct {
	Problem string // why it cannot be looked at, or which are missing
	Pending bool   // the problem is that some are not applied
	Former  bool   // the problem is that they are from before the baseline
	Schema  string // the newest that is applied
}

// Judge returns the finding about them.
func (m Migrations) Judge() Finding {
	f := Finding{Part: "migrations", State: OK, Message: "all applied, schema " + m.Schema}
	if m.Problem == "" {
		return f
	}
	f.State, f.Message = Fail, m.Problem
	f.Remedies = []string{"vigil up"}
	switch {
	case m.Pending:
		f.Remedies = []string{"vigil migrate"}
	case m.Former:
		f.Remedies = []string{
			"vigil export --all --project NAME > vigil.yaml   # with the version that made it",
			"vigil apply -f vigil.yaml   # with this version",
		}
	}
	return f
}

// Standby is the copy of the database that VIGIL_READ_DATABASE_URL names.
type Standby struct {
	Problem string        // why it cannot be read
	Reached bool          // it has all that the database has written
	Behind  time.Duration // the age of its newest change; 0: not known
}

// replicationRemedy shows whether and how a standby follows.
const replicationRemedy = `psql "$DATABASE_URL" -c 'select * from pg_stat_replication'`

// behindWarning is how old the newest change of a standby may be that has not caught up.
const behindWarning = 10 * time.Second

// Judge returns the finding about it.
func (s Standby) Judge() Finding {
	f := Finding{Part: "standby", State: OK, Message: "it has all that the database has written"}
	switch {
	case s.Problem != "":
		f.State, f.Message = Warn, "everything is read from the database: "+s.Problem
		f.Remedies = []string{`psql "$VIGIL_READ_DATABASE_URL" -c 'select pg_is_in_recovery()'`}
	case s.Reached:
	case s.Behind == 0:
		f.State, f.Message = Warn, "it lacks what the database has written, so everything is read from the database; how much is not known"
		f.Remedies = []string{replicationRemedy}
	case s.Behind > behindWarning:
		f.State, f.Message = Warn, fmt.Sprintf(
			"it is behind, so everything is read from the database: its newest change is %s old",
			short(s.Behind.Round(time.Second)),
		)
		f.Remedies = []string{replicationRemedy}
	default:
		f.Message = "it follows the database"
	}
	return f
}

// Results is a database that keeps results alone.
type Results struct {
	Region  string // whose results it keeps; empty: of all that have no other
	Problem string // why it cannot be used
}

// Judge returns the finding about it.
func (r Results) Judge() Finding {
	of := "all results"
	if r.Region != "" {
		of = "the results of " + r.Region
	}
	f := Finding{Part: "results", State: OK, Message: "the database of " + of + " answers"}
	if r.Problem != "" {
		f.State, f.Message = Fail, "the database of "+of+" cannot be used, so they are kept with everything else: "+r.Problem
		f.Remedies = []string{"vigil migrate   # where it has no schema yet"}
	}
	return f
}

// Temporal is the Temporal server, and the namespace of the platform.
type Temporal struct {
	Address, Namespace string
	Embedded           bool
	Problem            string // why it does not answer
	Missing            bool   // the namespace
	Retention, Wanted  time.Duration
	Attributes         []string // search attributes that are missing
}

// Judge returns the finding about it.
func (t Temporal) Judge() Finding {
	f := Finding{Part: "temporal", State: OK}
	setup := []string{"vigil temporal setup"}
	if t.Embedded {
		setup = []string{"vigil up   # again: it prepares its own Temporal"}
	}
	switch {
	case t.Problem != "" && t.Embedded:
		f.State, f.Message, f.Remedies = Fail, fmt.Sprintf("%s does not answer: %s", t.Address, t.Problem), []string{"vigil up"}
	case t.Problem != "":
		f.State, f.Message = Fail, fmt.Sprintf("%s does not answer: %s", t.Address, t.Problem)
		f.Remedies = []string{"temporal operator cluster health --address " + quote(t.Address)}
	case t.Missing:
		f.State, f.Message, f.Remedies = Fail, fmt.Sprintf("%s has no namespace %s", t.Address, t.Namespace), setup
	case len(t.Attributes) > 0:
		f.State, f.Remedies = Fail, setup
		f.Message = fmt.Sprintf("the namespace %s lacks the search attributes %s", t.Namespace, strings.Join(t.Attributes, ", "))
	case t.Wanted != 0 && t.Retention != t.Wanted:
		f.State, f.Remedies = Warn, setup
		f.Message = fmt.Sprintf("the namespace %s keeps closed workflows for %s; VIGIL_TEMPORAL_RETENTION is %s",
			t.Namespace, short(t.Retention), short(t.Wanted))
	default:
		f.Message = fmt.Sprintf("%s, namespace %s, closed workflows are kept for %s", t.Address, t.Namespace, short(t.Retention))
	}
	return f
}

// pingRemedy permits unprivileged ICMP on Linux until the next start of the machine.
const pingRemedy = `sudo sysctl -w net.ipv4.ping_group_range="0 2147483647"`

// ICMP judges whether checks of type ping can run on this machine.
func ICMP(permitted bool) Finding {
	if permitted {
		return Finding{Part: "icmp", State: OK, Message: "permitted: checks of type ping can run here"}
	}
	return Finding{
		Part: "icmp", State: Warn, Message: "forbidden on this machine: checks of type ping cannot run here", Remedies: []string{pingRemedy},
	}
}

// Mail is the mail server of VIGIL_SMTP_URL.
type Mail struct {
	Host    string // "": mail is written to Dir
	Dir     string
	Problem string // why it cannot be used
}

// Judge returns the finding about it.
func (m Mail) Judge() Finding {
	f := Finding{Part: "mail", State: OK}
	switch {
	case m.Host == "":
		f.Message = "no mail server: mail is written to " + m.Dir + "; VIGIL_SMTP_URL names one"
	case m.Problem != "":
		f.State, f.Message = Fail, fmt.Sprintf("the mail server %s cannot be used: %s", m.Host, m.Problem)
		host, port, _ := cutLast(m.Host, ":")
		f.Remedies = []string{"nc -vz " + quote(host) + " " + port, "VIGIL_SMTP_URL=smtp://USER:PASSWORD@HOST:587 vigil up"}
	default:
		f.Message = m.Host + " accepts the login"
	}
	return f
}

// Metrics is the listener of VIGIL_METRICS_LISTEN.
type Metrics struct {
	URL     string // "": none is wanted
	Running bool   // the instance that should serve it
	Problem string
}

// Judge returns the finding about it.
func (m Metrics) Judge() Finding {
	f := Finding{Part: "metrics", State: OK, Message: "not served; VIGIL_METRICS_LISTEN=127.0.0.1:9090 serves them"}
	switch {
	case m.URL == "":
	case !m.Running:
		f.Message = m.URL + " once the platform runs"
	case m.Problem != "":
		f.State, f.Message, f.Remedies = Fail, m.URL+" does not answer: "+m.Problem, []string{"curl -s " + m.URL + " | head"}
	default:
		f.Message = m.URL
	}
	return f
}

// Applied is what `--apply` made of its files.
type Applied struct {
	Path     string
	At       time.Time // of the last that succeeded; zero: none did
	Problems []string  // why the newest content is not applied
	Now      time.Time
}

// Judge returns the finding about it.
func (a Applied) Judge() Finding {
	f := Finding{Part: "apply", State: OK}
	switch {
	case len(a.Problems) > 0:
		f.State, f.Message = Fail, fmt.Sprintf("%s is not applied, what was applied before goes on: %s", a.Path, a.Problems[0])
		if more := len(a.Problems) - 1; more > 0 {
			f.Message += fmt.Sprintf(" (and %s)", count(more, "more error"))
		}
		f.Remedies = []string{"vigil validate -f " + quote(a.Path)}
	case a.At.IsZero():
		f.State, f.Message = Warn, a.Path+" is not applied yet"
		f.Remedies = []string{"vigil plan -f " + quote(a.Path)}
	default:
		f.Message = fmt.Sprintf("%s was applied %s ago", a.Path, short(a.Now.Sub(a.At)))
	}
	return f
}
