// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Instance is the `vigil up` of a data directory.
type Instance struct {
	DataDir string
	Running bool
	PID     int // 0: it ended in an orderly way, or has never run
	Version string
	Started time.Time
	Now     time.Time
}

// Judge returns the finding about it.
func (i Instance) Judge() Finding {
	f := Finding{Part: "instance", State: OK}
	switch {
	case i.Running:
		f.Message = fmt.Sprintf("vigil up runs: process %d, version %s, for %s", i.PID, i.Version, short(i.Now.Sub(i.Started)))
		return f
	case i.PID != 0:
		f.State, f.Message = Fail, fmt.Sprintf("vigil up, process %d, has ended without an orderly stop", i.PID)
	default:
		f.State, f.Message = Warn, "vigil up does not run with "+i.DataDir
	}
	f.Remedies = []string{"vigil up --data-dir " + quote(i.DataDir)}
	return f
}

// Settings judges the errors of the settings of the server's commands, a line each.
func Settings(problems []string) []Finding {
	var found []Finding
	for _, problem := range problems {
		variable, _, _ := strings.Cut(problem, " ")
		found = append(found, Finding{
			Part: "settings", State: Fail, Message: problem, Remedies: []string{"unset " + variable, "vigil up --help"},
		})
	}
	return found
}

// Postgres is the database server.
type Postgres struct {
	Private bool   // the one that `vigil up` runs
	Dir     string // of its programs
	Major   int    // version
	Problem string // why there is none; "": there is one
}

// Judge returns the finding about it.
func (p Postgres) Judge() Finding {
	f := Finding{Part: "postgres", State: OK}
	switch {
	case p.Problem != "" && p.Private:
		f.State, f.Message = Fail, p.Problem
		f.Remedies = []string{"sudo apt-get install postgresql   # Debian, Ubuntu", "brew install postgresql@17   # macOS"}
	case p.Problem != "":
		f.State, f.Message = Fail, p.Problem
		f.Remedies = []string{`psql "$DATABASE_URL" -c 'select 1'`}
	case p.Private:
		f.Message = fmt.Sprintf("version %d in %s", p.Major, p.Dir)
	default:
		f.Message = fmt.Sprintf("version %d, of DATABASE_URL", p.Major)
	}
	return f
}

// Disk is the room of the file system of a directory, in bytes.
type Disk struct {
	Path        string
	Free, Total uint64
}

// Below diskFailure bytes Postgres may stop at any moment; below diskWarning there is a
// warning.
const (
	diskFailure = 500 << 20
	diskWarning = 2 << 30
)

// Judge returns the finding about it.
func (d Disk) Judge() Finding {
	f := Finding{Part: "disk", State: OK, Message: fmt.Sprintf("%s free of %s in %s", bytes(d.Free), bytes(d.Total), d.Path)}
	switch {
	case d.Free < diskFailure:
		f.State = Fail
	case d.Free < diskWarning:
		f.State = Warn
	default:
		return f
	}
	f.Remedies = []string{"du -xh " + quote(d.Path) + " | sort -h | tail", "VIGIL_RESULT_RETENTION=30d vigil up"}
	return f
}

// bytes writes a size.
func bytes(n uint64) string {
	const mib, gib = 1 << 20, 1 << 30
	if n >= 10*gib {
		return fmt.Sprintf("%d GiB", n/gib)
	}
	if n >= gib {
		return fmt.Sprintf("%.1f GiB", float64(n)/gib)
	}
	return fmt.Sprintf("%d MiB", n/mib)
}

// DataDir is the data directory of a platform.
type DataDir struct {
	Path    string
	Missing bool
	Problem string // why it cannot be looked at
	Mode    fs.FileMode
	Owner   string // name of the user who owns it
	User    string // name of the user who runs this
}

// othersMayWrite are rights that let another user exchange what is in a directory.
const othersMayWrite fs.FileMode = 0o022

// Judge returns the finding about it.
func (d DataDir) Judge() Finding {
	f := Finding{Part: "data", State: OK}
	switch {
	case d.Missing:
		f.Message = d.Path + " does not exist yet; `vigil up` makes it"
		return f
	case d.Problem != "":
		f.State, f.Message = Fail, d.Problem
		f.Remedies = []string{"ls -ld " + quote(d.Path)}
		return f
	}
	f.Message = fmt.Sprintf("%s, of the user %s, mode %04o", d.Path, d.Owner, d.Mode.Perm())
	switch {
	case d.Mode.Perm()&othersMayWrite != 0:
		f.State = Fail
		f.Message += ": other users can exchange what is in it"
		f.Remedies = []string{"chmod go-w " + quote(d.Path)}
	case d.Owner != d.User:
		f.State = Warn
		f.Message += "; this is run as " + d.User + ", who may not see all of it"
		f.Remedies = []string{"sudo -u " + quote(d.Owner) + " vigil doctor --data-dir " + quote(d.Path)}
	}
	return f
}

// Port is an address that the platform listens on, or will.
type Port struct {
	What    string // such as "the API"
	Setting string // variable of the environment that changes it
	Address string // host:port
	Ours    bool   // the running instance has it
	Problem string // why it cannot be listened on; "": it is free
	Next    string // another address, for the remedy
}

// Ports judges the addresses of a platform.
func Ports(all []Port) []Finding {
	var found []Finding
	var fine []string
	for _, p := range all {
		switch {
		case p.Problem != "" && p.Ours:
			found = append(found, Finding{
				Part: "ports", State: Fail, Message: fmt.Sprintf("%s does not answer on %s: %s", p.What, p.Address, p.Problem),
				Remedies: []string{"ss -ltnp"},
			})
		case p.Problem != "":
			_, port, _ := cutLast(p.Address, ":")
			found = append(found, Finding{
				Part: "ports", State: Fail, Message: fmt.Sprintf("%s cannot listen on %s: %s", p.What, p.Address, p.Problem),
				Remedies: []string{"sudo ss -ltnp 'sport = :" + port + "'", p.Setting + "=" + p.Next + " vigil up"},
			})
		case p.Ours:
			fine = append(fine, p.Address+" serves "+p.What)
		default:
			fine = append(fine, p.Address+" is free for "+p.What)
		}
	}
	if len(fine) > 0 {
		found = append(found, Finding{Part: "ports", State: OK, Message: strings.Join(fine, ", ")})
	}
	return found
}

// cutLast cuts a text at the last separator.
func cutLast(text, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// SecretKey is the key that seals stored secrets.
type SecretKey struct {
	Given   bool        // by VIGIL_SECRET_KEY
	Needed  bool        // a platform exists that needs it
	Path    string      // of the file in the data directory
	Missing bool        // the file
	Problem string      // why it cannot be read
	Mode    fs.FileMode // of the file
	Made    time.Time   // when the file was made
	// Backup is when the last `vigil backup` was made, which holds the key, and Into its
	// file; zero: none is known.
	Backup time.Time
	Into   string
	Now    time.Time
}

// A key without a backup is a warning when it is older than unsavedKey, and a backup when
// it is older than oldBackup.
const (
	unsavedKey = 7 * 24 * time.Hour
	oldBackup  = 30 * 24 * time.Hour
)

// Judge returns the finding about it.
func (k SecretKey) Judge() Finding {
	f := Finding{Part: "secret key", State: OK}
	save := "vigil backup vigil-$(date +%F).backup"
	switch {
	case k.Given:
		f.Message = "from VIGIL_SECRET_KEY; keep it apart from the backups of the database"
		return f
	case k.Problem != "":
		f.State, f.Message = Fail, k.Problem
		f.Remedies = []string{"ls -l " + quote(k.Path)}
		return f
	case k.Missing && k.Needed:
		f.State, f.Message = Fail, k.Path+" is missing: stored secrets cannot be opened without it"
		f.Remedies = []string{"tar -xOf FILE.backup secret.key > " + quote(k.Path) + " && chmod 600 " + quote(k.Path)}
		return f
	case k.Missing:
		f.Message = "`vigil up` makes one in the data directory"
		return f
	}
	f.Message = k.Path
	if k.Mode.Perm()&othersMayRead != 0 {
		f.State, f.Message = Fail, fmt.Sprintf("%s has the mode %04o, so other users can read it", k.Path, k.Mode.Perm())
		f.Remedies = []string{"chmod 600 " + quote(k.Path)}
		return f
	}
	if k.Backup.IsZero() {
		f.Message += "; no backup is known: without the key all stored secrets are lost"
		f.Remedies = []string{save}
		if k.Now.Sub(k.Made) > unsavedKey {
			f.State = Warn
		}
		return f
	}
	age := k.Now.Sub(k.Backup)
	f.Message += fmt.Sprintf("; the last backup, which has it, is %s old", short(age))
	if k.Into != "" && k.Into != "-" {
		f.Message += ": " + k.Into
	}
	if age > oldBackup {
		f.State, f.Remedies = Warn, []string{save}
	}
	return f
}
