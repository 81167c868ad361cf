// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/statuspage"
	"github.com/vigil-monitor/vigil/storage"
)

// ServeAPI answers requests on the listener.
func (p *Platform) ServeAPI(ctx context.Context, listener net.Listener) error {
	if p.Private.Open() {
		if err := p.store.OpenPrivateTargets(ctx); err != nil {
			return err
		}
	}
	copied, err := p.openStandby(ctx)
	if err != nil {
		return err
	}
	answered := p.metrics.Reads(api.FromStandby, api.FromStandbyAlone, api.FromPrimary, api.FromPrimaryAgain)
	public, err := statuspage.New(statuspage.Options{
		Store:     p.publicStore(copied, answered),
		PublicURL: string(p.settings.PublicURL),
		Keys:      p.secrets.readerKeys(),
		Readers:   p.readers(),
		Now:       p.clock.Now,
		Log:       p.Log,
		Network:   func(r *http.Request) string { return rest.Network(rest.RequestOf(r.Context()).Address) },
	})
	if err != nil {
		return err
	}
	codec, err := p.codecEndpoint(ctx)
	if err != nil {
		return err
	}
	if err := ensureOperator(ctx, p.store); err != nil { // before the first request
		return err
	}
	server, err := api.New(api.Deps{
		Stores:         storesOf(p.store),
		Standby:        p.standbyOf(copied, answered),
		MissingResults: p.missingResults(),
		Loops:          p.loops,
		Incidents:      p.incidents,
		Probes:         p.probes,
		Channels:       p.channels,
		Mailer:         p.mailer,
		Log:            p.Log,
		Now:            p.clock.Now,
		Answered:       p.metrics.Answered(),
		PrivateTargets: p.Private,
		Temporal: func(ctx context.Context) error {
			_, err := p.temporal.Client.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		},
		LookupTXT:      p.lookupTXT,
		StatusPages:    public,
		Shares:         newReadShares(),
		Sent:           p.inbox.Wake,
		RefusedResults: p.metrics.RefusedResults(),
		Codec:          codec,
		Config:         p.apiConfig(),
	})
	if err != nil {
		return err
	}
	p.api = server
	dashboard, err := p.newDashboard(server, p.sessions(copied))
	if err != nil {
		return err
	}
	assistants, err := newMCP(server, string(p.settings.PublicURL), p.program.Version, p.Log)
	if err != nil {
		return err
	}
	p.metrics.Gauge("vigil_alert_streams_open", server.OpenStreams)
	p.metrics.Gauge("vigil_agent_streams_open", server.OpenAgentStreams)
	// The last part to start is the first to stop: answers end before the server.
	p.onStop(func(context.Context) { server.Close() })
	go p.markAnswering(ctx)
	p.serve("the API", rest.JSONErrors(listener), mounted(server, dashboard, assistants, public), 3*time.Second).RegisterOnShutdown(func() {
		server.EndStreams()
		dashboard.EndStreams()
	})
	return nil
}

// apiConfig are the settings of the API.
func (p *Platform) apiConfig() api.Config {
	s := &p.settings
	return api.Config{
		TemporalUIOrigin: cmp.Or(string(s.TemporalUIOrigin), p.temporal.uiURL),
		Version:          p.program.Version, PublicURL: string(s.PublicURL), SignupTier: account.Tier(s.SignupTier),
		EnterpriseMinInterval: s.EnterpriseMinInterval, EnterpriseRate: s.EnterpriseRate,
		UnverifiedPerAddress: s.UnverifiedPerAddress, UnverifiedTotal: s.UnverifiedTotal,
		AddressRate: s.AddressRate, TrustedProxies: s.TrustedProxies,
		SigningKey: p.secrets.Signing, OlderSigningKeys: p.secrets.OlderSigning,
		TemporalUIURL: p.temporal.uiURL, TemporalNamespace: s.TemporalNamespace,
		DeliverySchedule: vigil.RetrySchedule(s.DeliverySchedule),
		Streams: api.StreamConfig{
			PerKey: s.StreamsPerKey, PerOrganization: s.StreamsPerOrganization, Buffer: s.EventRetention,
		},
	}
}

// ListeningOn returns the settings with a public URL that has the port of the
// listener, if it was to be any free one.
func (s *Settings) ListeningOn(listener net.Listener) Settings {
	known := *s
	if strings.HasSuffix(string(s.PublicURL), ":0") {
		known.PublicURL = publicURL(URLOf(listener))
	}
	return known
}

// storesOf returns the one database for each part of the API.
func storesOf(s *storage.Store) api.Stores {
	return api.Stores{
		Accounts:  s,
		Checks:    s,
		Alerts:    s,
		Backtests: s,
		Apply:     s,
		Loops:     s,
		Events:    s,
		Rates:     s,
		Repeats:   s,
		Audit:     s,
		Keys:      s,
		System:    s,
		Pings:     s,
		Notified:  s,
		Agents:    s,
	}
}
