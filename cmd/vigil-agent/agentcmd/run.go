// SPDX-License-Identifier: Apache-2.0

package agentcmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/agent"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// New returns the command that runs an agent, with the one that looks for what is wrong below it. Use
// is its name.
func New(use, version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: "Run an agent: it probes the checks of a location from this machine",
		Long: "Runs an agent, which probes the checks of a location from this machine and sends the results to the\n" +
			"platform. It opens one outgoing connection and no port. docs/agents.md has the whole story.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			return run(cmd.Context(), &s, version, cmd.ErrOrStderr())
		},
	}
	addSettings(cmd)
	cmd.AddCommand(newLookCommand(version))
	return cmd
}

// run runs an agent until ctx ends.
func run(ctx context.Context, s *Settings, version string, stderr io.Writer) error {
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: s.LogLevel}))
	go keepSmall(ctx)
	go keepFew(ctx)
	if s.unencrypted() {
		log.WarnContext(ctx, "the connection to the platform is not encrypted: others on the way can read the token", "url", s.URL)
	}
	var own []netip.AddrPort
	var health net.Listener
	if s.Health != "" {
		var err error
		if health, err = new(net.ListenConfig).Listen(ctx, "tcp", string(s.Health)); err != nil {
			return fmt.Errorf("VIGIL_AGENT_HEALTH (--health): %w", err)
		}
		if at, err := netip.ParseAddrPort(health.Addr().String()); err == nil {
			own = append(own, at)
		}
		log.InfoContext(ctx, "health is at", "url", "http://"+health.Addr().String()+"/healthz")
	}
	platform, err := s.client(log)
	if err != nil {
		return err
	}
	guard := egress.New(egress.Policy{AllowedCIDRs: s.Allow, Refused: own})
	a, err := agent.New(ctx, agent.Options{
		URL: string(s.URL), Token: s.Token, HTTP: platform, Dir: s.DataDir, SpoolBytes: s.SpoolBytes,
		Registry: probe.NewRegistry(guard), Guard: guard, Canaries: s.Canaries, MaxProbes: s.MaxProbes,
		Name: s.Name, Version: version, Now: time.Now, Log: log,
	})
	if err != nil {
		return err
	}
	if health != nil {
		stop := serveHealth(health, a)
		defer stop()
	}
	return a.Run(ctx)
}

// unencrypted reports whether the token goes to another machine without encryption.
func (s *Settings) unencrypted() bool {
	parsed, err := url.Parse(string(s.URL))
	if err != nil || parsed.Scheme != "http" {
		return false
	}
	addr, err := netip.ParseAddr(parsed.Hostname())
	return parsed.Hostname() != "localhost" && (err != nil || !addr.Unmap().IsLoopback())
}

const (
	connectTimeout = 10 * time.Second
	// pingAfter is how long nothing comes on a connection of HTTP/2 before it is asked for, and
	// pingTimeout how long the answer may take: one that is dead would be used for ever.
	pingAfter   = 5 * time.Second
	pingTimeout = 5 * time.Second
)

// transport reaches the platform, through the proxy that the environment names. Roots of nil are those of the machine.
func (s *Settings) transport(roots *x509.CertPool) *http.Transport {
	standard := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	standard.DialContext = (&net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}).DialContext
	standard.TLSHandshakeTimeout = connectTimeout
	standard.MaxIdleConnsPerHost = 4
	standard.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	standard.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	return standard
}

func (s *Settings) client(log *slog.Logger) (*http.Client, error) {
	transport, err := s.trusted(log)
	return &http.Client{
		Transport: transport,
		// A redirect could lead the token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, err
}

// serveHealth answers at /healthz until it is stopped.
func serveHealth(listener net.Listener, a *agent.Agent) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		status := a.Status()
		w.Header().Set("Content-Type", "application/json")
		if status.Problem != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"healthy": status.Problem == "", "problem": status.Problem, "location": status.Location.Key, "checks": status.Checks,
			"spool": status.Spool, "clock_difference_ms": status.Clock.Milliseconds(),
		})
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, MaxHeaderBytes: 8 << 10}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }
}

// Main runs the program vigil-agent and returns its exit code: 0; 1 when it failed; 2 when the
// command line is wrong; 130 when the user interrupted it.
func Main(ctx context.Context, args []string, version string, stdout, stderr io.Writer) int {
	root := New("vigil-agent", version)
	root.Version, root.SilenceUsage, root.SilenceErrors = version, true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	wrong := errors.New("")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return errors.Join(wrong, err) })
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, wrong) || strings.HasPrefix(err.Error(), "unknown command"):
		fmt.Fprintf(stderr, "vigil-agent: %s\n", strings.TrimSpace(err.Error()))
		return 2
	}
	fmt.Fprintf(stderr, "vigil-agent: %s\n", strings.ReplaceAll(err.Error(), "\n", "\nvigil-agent: "))
	return 1
}
