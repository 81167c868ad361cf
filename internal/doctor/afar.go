// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Config is the file of contexts, and the server that a command chooses by it.
type Config struct {
	Path    string
	Missing bool
	Mode    fs.FileMode // before it was read; a mode that others can read is tightened then
	Context string      // in use; "": none
	From    string      // where the server's address comes from; "": there is no server
	Problem string      // why no server can be chosen; "": there is none
	// Here: an instance of this machine is at hand, so that `vigil login` needs no address.
	Here bool
}

// othersMayRead are the rights that only the owner of a private file should have.
const othersMayRead fs.FileMode = 0o077

// Judge returns the finding about it.
func (c Config) Judge() Finding {
	f := Finding{Part: "config", State: OK}
	login := "vigil login URL"
	if c.Here {
		login = "vigil login"
	}
	switch {
	case c.Problem != "":
		f.State, f.Message, f.Remedies = Fail, c.Problem, []string{"vigil context list", login}
		return f
	case c.Missing && c.From == "":
		f.State, f.Message = Warn, "not logged in: "+c.Path+" does not exist"
		f.Remedies = []string{login}
		return f
	case c.From == "":
		f.State, f.Message = Warn, c.Path+" has no current context"
		f.Remedies = []string{"vigil context list", "vigil context use NAME"}
		return f
	case c.Missing:
		f.Message = "no file; the server comes from " + c.From
		return f
	}
	f.Message = fmt.Sprintf("%s, mode %04o", c.Path, c.Mode.Perm())
	if c.Context != "" {
		f.Message += ", context " + c.Context
	} else {
		f.Message += ", not used: the server comes from " + c.From
	}
	if c.Mode.Perm()&othersMayRead != 0 {
		f.State = Warn
		f.Message += "; other users could read the keys in it"
		f.Remedies = []string{"chmod 600 " + quote(c.Path), "vigil login"}
	}
	return f
}

// API is how the server answers.
type API struct {
	URL        string
	Took       time.Duration
	Problem    string // why it does not answer; "": it does
	Interface  string // version of the interface, such as v1
	Build, Own string // versions of the server's program and of this one
	Loopback   bool   // the address is one of this machine
	DataDir    string // of the instance of this machine that should serve it; "": not known
}

// spoken is the version of the interface that the client commands speak.
const spoken = "v1"

// Judge returns the finding about it.
func (a API) Judge() Finding {
	f := Finding{Part: "api", State: OK}
	switch {
	case a.Problem != "" && a.Loopback:
		f.State, f.Message = Fail, fmt.Sprintf("%s does not answer: %s", a.URL, a.Problem)
		f.Remedies = []string{"vigil up"}
		if a.DataDir != "" {
			f.Remedies = []string{"vigil up --data-dir " + quote(a.DataDir)}
		}
		return f
	case a.Problem != "":
		f.State, f.Message = Fail, fmt.Sprintf("%s does not answer: %s", a.URL, a.Problem)
		f.Remedies = []string{"curl -sv " + a.URL + "/health", "vigil context list"}
		return f
	case a.Interface != spoken:
		f.State, f.Remedies = Fail, []string{"vigil context list"}
		f.Message = fmt.Sprintf("%s is no server of Vigil, or speaks another version: %q instead of %s", a.URL, a.Interface, spoken)
		return f
	}
	f.Message = fmt.Sprintf("%s answers in %s, %s, ", a.URL, a.Took.Round(time.Millisecond), a.Interface)
	if a.Build == a.Own {
		f.Message += "same version as this program"
	} else {
		f.Message += fmt.Sprintf("version %s, this program is %s", a.Build, a.Own)
	}
	if strings.HasPrefix(a.URL, "http://") && !a.Loopback {
		f.State = Warn
		f.Message += "; the connection is not encrypted, so others on the way can read the key"
		f.Remedies = []string{"vigil login " + "https://" + strings.TrimPrefix(a.URL, "http://")}
	}
	return f
}

// Key is the API key in use.
type Key struct {
	URL     string // of the server
	From    string // where the key comes from
	Missing bool
	Problem string // why the server refuses it; "": it does not
	Prefix  string // the beginning of the key
	Name    string
	Scopes  []string
	Expires *time.Time // nil: never
	Now     time.Time
}

// A key that expires within keyWarning is a warning; within keyAdvice there is advice.
const (
	keyWarning = 7 * 24 * time.Hour
	keyAdvice  = 30 * 24 * time.Hour
)

// Judge returns the finding about it.
func (k Key) Judge() Finding {
	f := Finding{Part: "key", State: OK}
	login := "vigil login " + k.URL
	switch {
	case k.Missing:
		f.State, f.Message, f.Remedies = Fail, "there is no key for "+k.URL, []string{login}
		return f
	case k.Problem != "":
		f.State, f.Message = Fail, fmt.Sprintf("the key from %s is refused: %s", k.From, k.Problem)
		f.Remedies = []string{login}
		return f
	}
	f.Message = k.Prefix + ", may: " + strings.Join(k.Scopes, " ")
	if k.Expires == nil {
		f.Message += "; does not expire"
		return f
	}
	left := k.Expires.Sub(k.Now)
	f.Message += "; expires in " + short(left)
	if left < keyWarning {
		f.State = Warn
	}
	if left < keyAdvice {
		f.Remedies = []string{"vigil api-key create " + quote(k.Name) + " --expires 90d", login}
	}
	return f
}

// Clock is the difference between the clocks of this machine and of the server.
type Clock struct {
	Ahead time.Duration // of the server's clock
	Exact time.Duration // how exact the figure is
}

// clockWarning is the difference from which times in lists are misleading. A worker whose
// clock is wrong by clockLimit does not probe.
const (
	clockWarning = 5 * time.Second
	clockLimit   = 30 * time.Second
)

// Judge returns the finding about it.
func (c Clock) Judge() Finding {
	apart := c.Ahead.Abs()
	f := Finding{Part: "clock", State: OK, Message: fmt.Sprintf("%.1f s apart", apart.Seconds())}
	if apart <= c.Exact {
		f.Message = fmt.Sprintf("less than %.1f s apart", c.Exact.Seconds())
	}
	side := "behind"
	if c.Ahead < 0 {
		side = "ahead of"
	}
	switch {
	case apart-c.Exact >= clockLimit:
		f.State = Fail
	case apart-c.Exact >= clockWarning:
		f.State = Warn
	default:
		return f
	}
	f.Message = fmt.Sprintf("the clock of this machine is %.1f s %s the server's", apart.Seconds(), side)
	f.Remedies = []string{"sudo timedatectl set-ntp true"}
	return f
}

// quote writes a word as a shell reads it.
func quote(word string) string {
	plain := word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-") == ""
	if plain && word[0] != '-' {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
