// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
)

// Dump writes a database to a file, in the custom format of pg_dump, as of one instant.
// The error has what the program said and no password.
func Dump(ctx context.Context, program, dsn, file string) error {
	return runTool(ctx, program, dsn, "--format=custom", "--no-owner", "--no-privileges", "--file="+file)
}

// Load reads a dump into an empty database, in one transaction.
func Load(ctx context.Context, program, dsn, file string) error {
	return runTool(ctx, program, dsn, "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", file)
}

// runTool runs a program of Postgres on a database. The password is passed in the
// environment, where other users of the machine do not see it.
func runTool(ctx context.Context, program, dsn string, args ...string) error {
	dsn, password := splitPassword(dsn)
	args = append([]string{"--dbname=" + dsn, "--no-password"}, args...)
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the installation that was found
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	if password != "" { // else that of a password file
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	said := strings.TrimSpace(string(out))
	if said == "" {
		said = err.Error()
	}
	if password != "" {
		said = strings.ReplaceAll(said, password, "***")
	}
	return errors.New(strings.ReplaceAll(said, "\n", "; "))
}

// ofDriver are parameters of a connection string that Vigil's driver knows and the
// programs of Postgres refuse.
var ofDriver = regexp.MustCompile(`^(pool_.*|default_query_exec_mode|statement_cache_capacity|description_cache_capacity)$`)

// splitPassword takes the password out of a connection string, and what only the driver
// understands.
func splitPassword(dsn string) (without, password string) {
	parsed, err := url.Parse(dsn)
	if err != nil || parsed.Scheme != "postgres" && parsed.Scheme != "postgresql" {
		return splitKeywords(dsn)
	}
	if given, ok := parsed.User.Password(); ok {
		password = given
		parsed.User = url.User(parsed.User.Username())
	}
	query := parametersOf(parsed.RawQuery)
	for name := range query {
		switch {
		case name == "password":
			password = query.Get(name)
			query.Del(name)
		case ofDriver.MatchString(name):
			query.Del(name)
		}
	}
	parsed.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	return parsed.String(), password
}

// parametersOf reads the parameters of a URI as Postgres does: unlike in a form, a plus is a
// plus there, and only %20 is a space.
func parametersOf(query string) url.Values {
	values, _ := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B")) // without those that are no parameters
	return values
}

var keyword = regexp.MustCompile(`(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S*)\s*`)

// splitKeywords does so for the form "host=... user=...".
func splitKeywords(dsn string) (without, password string) {
	var rest []string
	for _, pair := range keyword.FindAllStringSubmatch(dsn, -1) {
		switch name, value := pair[1], pair[2]; {
		case name == "password":
			password = strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(strings.Trim(value, "'"))
		case ofDriver.MatchString(name):
		default:
			rest = append(rest, fmt.Sprintf("%s=%s", name, value))
		}
	}
	return strings.Join(rest, " "), password
}
