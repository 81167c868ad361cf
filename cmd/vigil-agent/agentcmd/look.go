// SPDX-License-Identifier: Apache-2.0

package agentcmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/agent"
	"github.com/vigil-monitor/vigil/internal/agentlink"
)

// lookTimeout is how long each step may take.
const lookTimeout = 15 * time.Second

func newLookCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Say, step by step, whether the agent can reach the platform, and what is wrong when it cannot",
		Long: "Looks at each step on the way to the platform: settings, proxy, DNS, TCP, TLS, token and clock. The first\n" +
			"that fails is named, and the exit code is 1. It opens no session that stays and probes nothing.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			return look(cmd.Context(), &s, version, cmd.OutOrStdout())
		},
	}
}

// step is a step on the way to the platform. It returns what it has seen.
type step struct {
	name string
	do   func(ctx context.Context) (seen string, err error)
}

// look goes the steps and ends with the first one that fails.
func look(ctx context.Context, s *Settings, version string, out io.Writer) error {
	way, err := s.way()
	if err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	platform, err := s.client(log)
	if err != nil {
		return err
	}
	steps := []step{{"token file", func(context.Context) (string, error) {
		_, err := s.Token()
		return "the token has the form of one", err
	}}}
	if seen := way.seesProxy(); seen != "" {
		steps = append(steps, step{"proxy", func(context.Context) (string, error) { return seen, nil }})
	}
	steps = append(steps, step{"DNS", way.resolve}, step{"TCP", way.dial})
	if way.platform.Scheme == "https" {
		steps = append(steps, step{"TLS", func(ctx context.Context) (string, error) { return way.handshake(ctx, platform) }})
	}
	var looked agent.Look
	steps = append(steps, step{"token", func(ctx context.Context) (string, error) {
		options := agent.Options{
			URL: string(s.URL), Token: s.Token, HTTP: platform, Name: s.Name, Version: version, Now: time.Now, Log: log,
		}
		var err error
		looked, err = options.Look(ctx)
		return "the platform accepts it for the location " + looked.Location.Key, err
	}}, step{"clock", func(context.Context) (string, error) {
		ahead := looked.Clock.Round(time.Millisecond)
		if ahead.Abs() > agentlink.ClockTolerance {
			return "", fmt.Errorf(
				"the clock of this machine is %v ahead of the platform's: set it by NTP (an agent corrects its slots by the difference)",
				ahead,
			)
		}
		return fmt.Sprintf("the clock of this machine is %v ahead of the platform's", ahead), nil
	}})
	for _, one := range steps {
		if err := one.take(ctx, out); err != nil {
			return err
		}
	}
	return nil
}

func (s step) take(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	seen, err := s.do(ctx)
	if err != nil {
		return fmt.Errorf("%s: %s", s.name, agent.Explain(ctx, err))
	}
	_, err = fmt.Fprintf(out, "%-10s %s\n", s.name, seen)
	return err
}

// way is how the platform is reached.
type way struct {
	platform *url.URL
	proxy    *url.URL // nil: directly
	host     string   // that is dialled, with its port
}

func (s *Settings) way() (*way, error) {
	request, err := http.NewRequest(http.MethodGet, string(s.URL), nil) //nolint:noctx // it is not sent
	if err != nil {
		return nil, err
	}
	w := &way{platform: request.URL}
	if w.proxy, err = http.ProxyFromEnvironment(request); err != nil { // its text may have the password
		return nil, errors.New("proxy: the environment names no proxy that can be used")
	}
	to := w.platform
	if w.proxy != nil {
		to = w.proxy
	}
	port := to.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80", "socks5": "1080", "socks5h": "1080"}[to.Scheme]
	}
	w.host = net.JoinHostPort(to.Hostname(), port)
	return w, nil
}

// seesProxy says which proxy is used, empty when the environment names none.
func (w *way) seesProxy() string {
	if w.proxy != nil {
		return "the environment names " + w.proxy.Redacted()
	}
	for _, variable := range []string{"HTTPS_PROXY", "https_proxy"} {
		if os.Getenv(variable) != "" && w.platform.Scheme == "https" {
			return variable + " is set and not used: it is no address of a proxy, or NO_PROXY names the platform"
		}
	}
	return ""
}

// resolve looks the name up that is dialled.
func (w *way) resolve(ctx context.Context) (string, error) {
	host, _, _ := net.SplitHostPort(w.host)
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	return host + " is " + strings.Join(found, ", "), err
}

// dial connects to the platform, or to the proxy.
func (w *way) dial(ctx context.Context) (string, error) {
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, "tcp", w.host)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	return "connected to " + conn.RemoteAddr().String(), nil
}

// handshake makes a request over TLS, through the proxy where there is one.
func (w *way) handshake(ctx context.Context, platform *http.Client) (string, error) {
	var seen string
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: func(state tls.ConnectionState, err error) {
		if err == nil && len(state.PeerCertificates) > 0 {
			leaf := state.PeerCertificates[0]
			seen = fmt.Sprintf(
				"%s, certificate of %s until %s",
				tls.VersionName(state.Version),
				leaf.Subject.CommonName,
				leaf.NotAfter.Format(time.DateOnly),
			)
		}
	}})
	request, err := http.NewRequestWithContext(traced, http.MethodGet, w.platform.String()+"/health", nil)
	if err != nil {
		return "", err
	}
	response, err := platform.Do(request)
	if seen != "" {
		if err == nil {
			_ = response.Body.Close()
		}
		return seen, nil
	}
	if err == nil {
		_ = response.Body.Close()
		return "", fmt.Errorf("%s was answered without TLS", w.platform)
	}
	if w.proxy != nil {
		return "", fmt.Errorf("through the proxy: %s", agent.Explain(ctx, errors.Unwrap(err)))
	}
	return "", err
}
