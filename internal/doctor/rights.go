// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"
	"time"
)

// DatabaseRights are what the user of DATABASE_URL may do there.
type DatabaseRights struct {
	User           string
	Superuser      bool
	Migrates       bool // the user may make tables
	Tables, Closed int  // all, and those that the user may not both read and write
}

// Judge returns the finding about them.
func (r DatabaseRights) Judge() Finding {
	f := Finding{Part: "database rights", State: OK}
	switch {
	case r.Closed > 0:
		f.State, f.Message = Fail, fmt.Sprintf("user %s may not read and write %d of %d tables", r.User, r.Closed, r.Tables)
		f.Remedies = []string{
			fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO %q;   -- as their owner", r.User),
		}
	case r.Superuser:
		f.Message = fmt.Sprintf("user %s is a superuser; the platform needs a user that owns its database, and nothing more", r.User)
	case r.Migrates:
		f.Message = fmt.Sprintf("user %s reads and writes all tables, and may migrate", r.User)
	default:
		f.Message = fmt.Sprintf("user %s reads and writes all tables, and may not migrate: another user runs vigil migrate", r.User)
	}
	return f
}

// Credential is what a process shows to another server.
type Credential struct {
	Part string // such as "temporal token"
	// Whose names whom it stands for, and May what it may do; empty: it does not say.
	Whose, May string
	Ends       time.Time // zero: never
	// InFile: it is in a file that processes read again.
	InFile bool
}

// credentialWarning is how long before its end a credential is a warning.
const credentialWarning = 14 * 24 * time.Hour

// Judge returns the finding about it.
func (c Credential) Judge(now time.Time) Finding {
	f := Finding{Part: c.Part, State: OK}
	said := make([]string, 0, 3)
	if c.Whose != "" {
		said = append(said, "of "+c.Whose)
	}
	if c.May != "" {
		said = append(said, "may "+c.May)
	}
	left := c.Ends.Sub(now)
	switch {
	case c.Ends.IsZero():
		said = append(said, "does not end")
	case left <= 0:
		f.State = Fail
		said = append(said, "has ended at "+c.Ends.UTC().Format(time.RFC3339))
	default:
		if left < credentialWarning {
			f.State = Warn
		}
		said = append(said, fmt.Sprintf("ends in %s, at %s", short(left.Truncate(time.Minute)), c.Ends.UTC().Format(time.RFC3339)))
	}
	f.Message = strings.Join(said, ", ")
	switch {
	case f.State == OK:
	case c.InFile:
		f.Remedies = []string{"vigil doctor   # again, once the next one is in its file, from where processes that run take it"}
	default:
		f.Remedies = []string{"vigil doctor   # again, once the next one is in the environment and process after process was restarted"}
	}
	return f
}
