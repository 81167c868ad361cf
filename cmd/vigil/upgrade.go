// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/releases"
)

// upgradeTimeout bounds the whole request for latest.json.
const upgradeTimeout = 10 * time.Second

// upgradeOptions are the flags of `vigil upgrade`.
type upgradeOptions struct {
	check, asJSON, exitCode, allowHTTP bool
}

func newUpgradeCommand() *cobra.Command {
	var opts upgradeOptions
	cmd := &cobra.Command{
		Use:   "upgrade --check FILE|URL",
		Short: "Say whether there is a newer release, and how to get it",
		Long: "Read latest.json of a release, from a file or from an address that you choose, and compare this program with it:\n" +
			"whether it is newer, what is new, and how to upgrade in the way in which this program was installed. Nothing\n" +
			"is changed, and no other address is asked: Vigil has none of its own.",
		Example: "  vigil upgrade --check latest.json\n  vigil upgrade --check https://mirror.example.com/vigil/latest.json --exit-code",
		Args:    cobra.MaximumNArgs(1),
		GroupID: cli.GroupID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !opts.check || len(args) == 0 {
				return console.Errorf(console.Usage, "Vigil knows no address to ask by itself: "+
					"name latest.json of a release, as in `vigil upgrade --check latest.json`, or its https address. "+
					"It is only compared; nothing is installed")
			}
			return checkUpgrade(cmd.Context(), cmd.OutOrStdout(), args[0], &opts)
		},
	}
	cmd.Flags().BoolVar(&opts.check, "check", false, "compare, and change nothing; there is no other way to call this command")
	cmd.Flags().BoolVar(&opts.exitCode, "exit-code", false, "exit with 3 when there is a newer release")
	cmd.Flags().BoolVar(&opts.asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&opts.allowHTTP, "allow-http", false, "allow an address without TLS on another machine")
	return cmd
}

// upgradeAnswer is what `vigil upgrade --check --json` prints.
type upgradeAnswer struct {
	Verdict   releases.Verdict `json:"verdict"`
	Version   string           `json:"version"` // of this program
	Installed string           `json:"installed"`
	Upgrade   []string         `json:"upgrade"` // what to do, in order
	Latest    releases.Latest  `json:"latest"`
}

func checkUpgrade(ctx context.Context, out io.Writer, from string, opts *upgradeOptions) error {
	content, err := readLatest(ctx, from, opts.allowHTTP)
	if err != nil {
		return err
	}
	latest, err := releases.Parse(content)
	if err != nil {
		return console.Errorf(console.Failed, "%s cannot be used: %w", redacted(from), err)
	}
	way := installedBy(thisMachine())
	answer := upgradeAnswer{Verdict: latest.Judge(version), Version: version, Installed: way.name, Latest: latest, Upgrade: []string{}}
	if answer.Verdict != releases.Current {
		answer.Upgrade = way.steps(latest.Version)
	}
	if opts.asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(answer)
	} else {
		_, err = io.WriteString(out, answer.text(way))
	}
	if err == nil && opts.exitCode && (answer.Verdict == releases.Newer || answer.Verdict == releases.TooFar) {
		return console.Silent(console.No)
	}
	return err
}

// text is the answer for people.
func (a *upgradeAnswer) text(way installation) string {
	var out strings.Builder
	l := &a.Latest
	this := "This is vigil " + a.Version + ", installed " + way.phrase + "."
	newest := fmt.Sprintf("%s of %s", l.Version, l.ReleasedAt.Format(time.DateOnly))
	switch a.Verdict {
	case releases.Current:
		fmt.Fprintf(&out, "%s\nThe newest release is %s: there is nothing to upgrade.\n", this, newest)
		return out.String()
	case releases.TooFar:
		fmt.Fprintf(
			&out,
			"%s\nThe newest release is %s. It upgrades %s and newer: go to a release in between first.\n",
			this,
			newest,
			l.MinimumUpgradeFrom,
		)
	case releases.Unknown:
		fmt.Fprintf(&out, "%s\nThe newest release is %s. This build has no version to compare with it.\n", this, newest)
	case releases.Newer:
		fmt.Fprintf(&out, "%s\nThe newest release is %s.\n", this, newest)
	}
	out.WriteString("\nTo upgrade, after `vigil backup`:\n")
	for _, step := range a.Upgrade {
		fmt.Fprintf(&out, "  %s\n", step)
	}
	if l.Notes != "" {
		fmt.Fprintf(&out, "\nWhat is new in %s:\n\n%s\n", l.Version, l.Notes)
	}
	return out.String()
}

// redacted returns the name of a source without a password in its address.
func redacted(from string) string {
	if address, err := url.Parse(from); err == nil && address.Host != "" {
		return address.Redacted()
	}
	return from
}

// readLatest reads at most releases.MaxBytes of a file or an address.
func readLatest(ctx context.Context, from string, allowHTTP bool) ([]byte, error) {
	address, err := url.Parse(from)
	if err == nil && strings.Contains(from, "://") {
		return fetchLatest(ctx, address, allowHTTP)
	}
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, console.Errorf(console.NotFound, "there is no file %s", from)
	} else if err != nil {
		return nil, console.Errorf(console.Failed, "%s cannot be read: %w", from, err)
	}
	if !info.Mode().IsRegular() { // a pipe would be waited for
		return nil, console.Errorf(console.Failed, "%s is no regular file", from)
	}
	file, err := os.Open(from) //nolint:gosec // the operator named it
	if err != nil {
		return nil, console.Errorf(console.Failed, "%s cannot be read: %w", from, err)
	}
	defer func() { _ = file.Close() }()
	return bounded(file, from)
}

func bounded(r io.Reader, from string) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, releases.MaxBytes+1))
	if err != nil {
		return nil, console.Errorf(console.Unreachable, "%s cannot be read: %w", from, err)
	}
	if len(content) > releases.MaxBytes {
		return nil, console.Errorf(console.Failed, "%s has more than 1 MiB: it is no latest.json", from)
	}
	return content, nil
}

// fetchLatest asks an address that the operator named. Redirects may not leave TLS.
func fetchLatest(ctx context.Context, address *url.URL, allowHTTP bool) ([]byte, error) {
	if err := permitted(address, allowHTTP); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, upgradeTimeout)
	defer cancel()
	client := &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("it redirects more than 5 times")
		}
		return permitted(next.URL, allowHTTP)
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, console.Errorf(console.Usage, "%s is no address: %w", address.Redacted(), err)
	}
	request.Header.Set("User-Agent", "vigil") // neither version nor platform
	request.Header.Set("Accept", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		if refused, ok := errors.AsType[*console.ExitError](err); ok { // a redirect
			return nil, refused
		}
		cause := err
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // it repeats the address
			cause = wrapped.Err
		}
		return nil, console.Errorf(console.Unreachable, "%s does not answer: %w", address.Redacted(), cause)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		code := console.Unreachable
		switch answer.StatusCode {
		case http.StatusNotFound, http.StatusGone:
			code = console.NotFound
		case http.StatusUnauthorized, http.StatusForbidden:
			code = console.Login
		}
		return nil, console.Errorf(code, "%s answers %d", address.Redacted(), answer.StatusCode)
	}
	return bounded(answer.Body, address.Redacted())
}

// permitted returns an error for an address that may not be asked.
func permitted(address *url.URL, allowHTTP bool) error {
	switch {
	case address.Host == "":
		return console.Errorf(console.Usage, "%s has no host", address.Redacted())
	case address.Scheme == "https", address.Scheme == "http" && (allowHTTP || loopback(address.Hostname())):
		return nil
	case address.Scheme == "http":
		return console.Errorf(
			console.Usage,
			"%s has no TLS, so anything on the way could change it: use https, or --allow-http",
			address.Redacted(),
		)
	default:
		return console.Errorf(console.Usage, "%s is neither a file nor an https address", address.Redacted())
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
