// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// DomainConfig is the config of domain checks.
type DomainConfig struct {
	Domain          string `json:"domain" title:"Domain" help:"Of a name below it, the part that is registered counts." form:"address,mono" doc:"Domain whose registration is watched; of a name below it, the part that is registered counts" maxLength:"253" example:"example.com"`
	AlertDaysBefore *int   `json:"alert_days_before,omitempty" title:"Fail this many days before the registration expires" form:"expect,short" doc:"Fail when the registration expires in so many days or fewer" minimum:"0" maximum:"3650" example:"30"`
	RDAPServer      string `json:"rdap_server,omitempty" title:"RDAP server" help:"Its base URL. The one that IANA lists for the domain, when it is empty." form:"more,mono" doc:"Base URL of the registry's RDAP server. Default: the one that IANA lists for the domain" maxLength:"2048" example:"https://rdap.example.com/"`
	TimeoutSeconds  int    `json:"timeout_seconds,omitempty" doc:"Longest time for everything, at most the interval. Default: the smaller of 10 and the interval" minimum:"1" maximum:"60"`
}

// DomainMetadata is the metadata of a result of a domain check.
type DomainMetadata struct {
	Timings       Timings  `json:"timings" doc:"How long each phase took"`
	IP            string   `json:"ip,omitempty" doc:"Address that answered"`
	Domain        string   `json:"domain" doc:"Domain that was asked for"`
	Server        string   `json:"server,omitempty" doc:"RDAP server that answered"`
	ExpiresAt     string   `json:"expires_at,omitempty" doc:"When the registration expires (RFC 3339)"`
	DaysRemaining *int     `json:"domain_days_remaining,omitempty" doc:"Whole days until the registration expires, negative after"`
	Statuses      []string `json:"statuses,omitempty" doc:"Statuses of the registration (RFC 8056), such as client transfer prohibited"`
	AnsweredAt    string   `json:"answered_at,omitempty" doc:"When the registry answered; earlier than the result when it could not be asked again"`
}

var _ = register(newDomain)

// newDomain makes the domain type: it asks the registry by RDAP (RFC 9082, RFC 9083) when the
// registration of a domain expires. The server is the one that IANA lists (RFC 9224).
func newDomain(env *environment) Prober {
	if env.bootstrap == nil {
		env.bootstrap = newBootstrap(bootstrapURL, bootstrapCopy)
	}
	return domainProber{environment: env, answers: newRDAPAnswers()}
}

type domainProber struct {
	*environment

	answers *rdapAnswers
}

func (domainProber) Type() vigil.CheckType { return vigil.TypeDomain }

func (domainProber) Documents() (config, metadata any) { return DomainConfig{}, DomainMetadata{} }

// Describe says what the type is for.
func (domainProber) Describe() TypeInfo {
	return TypeInfo{Position: 10, About: "Registration of a name"}
}

func (p domainProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	probe := domainProbe{prober: p}
	c := &probe.config
	var err error
	if probe.hidden, err = p.read(p.Type(), given, c); err != nil {
		return nil, err
	}
	if probe.domain, err = parseDomain("config.domain", c.Domain); err != nil {
		return nil, err
	}
	if c.RDAPServer != "" {
		if probe.server, err = parseURL(p.guard, "config.rdap_server", c.RDAPServer, "https", "http"); err != nil {
			return nil, err
		}
		if probe.server.RawQuery != "" {
			return nil, vigil.Invalid("config.rdap_server", "must be a base URL, without a query")
		}
	} else if len(p.bootstrap.of(probe.domain)) == 0 {
		return nil, vigil.Invalid("config.rdap_server", "is required, since IANA lists no RDAP server for .%s", topLevel(probe.domain))
	}
	probe.deadline, err = timeout(c.TimeoutSeconds, interval)
	return probe, err
}

// parseDomain reads a domain and returns the part of it that is registered: one label more than
// the public suffix under which registries sell names.
func parseDomain(path, given string) (string, error) {
	if _, err := netip.ParseAddr(strings.Trim(given, "[]")); err == nil {
		return "", vigil.Invalid(path, "must be a domain, not an IP address")
	}
	name, err := parseName(path, given)
	if err != nil {
		return "", err
	}
	name = strings.ToLower(name)
	suffix, sold := publicsuffix.PublicSuffix(name)
	for !sold && strings.Contains(suffix, ".") { // one of a company, such as github.io
		_, above, _ := strings.Cut(suffix, ".")
		suffix, sold = publicsuffix.PublicSuffix(above)
	}
	below, found := strings.CutSuffix(name, "."+suffix)
	if !found {
		return "", vigil.Invalid(path, "is a suffix below which domains are registered; name one of them, such as example.%s", name)
	}
	return below[strings.LastIndexByte(below, '.')+1:] + "." + suffix, nil
}

func topLevel(domain string) string { return domain[strings.LastIndexByte(domain, '.')+1:] }

type domainProbe struct {
	prober   domainProber
	hidden   *redact.Redactor
	config   DomainConfig
	domain   string
	server   *url.URL // nil: the one that IANA lists
	deadline time.Duration
}

func (p domainProbe) hides() *redact.Redactor { return p.hidden }

func (p domainProbe) Deadline() time.Duration { return p.deadline }

func (p domainProbe) Target() string { return p.domain }

func (p domainProbe) Run(ctx context.Context) vigil.Observation {
	return observe(ctx, p.prober.guard, p.deadline, p.hidden, func(ctx context.Context, t *timeline) outcome {
		seen := DomainMetadata{Domain: p.domain}
		found, err := p.registration(ctx, t)
		t.stop()
		seen.Timings, seen.IP = t.timings(), t.address()
		if found != nil {
			seen.Server, seen.AnsweredAt = found.server, found.at.UTC().Format(time.RFC3339)
			err = p.judge(found, &seen)
		}
		return outcome{metadata: seen, err: err}
	})
}

// registration asks the servers of the registry, one after the other. When none says anything of
// the domain, what the registry said within the last day is returned, if it did.
func (p domainProbe) registration(ctx context.Context, t *timeline) (*registration, error) {
	var bases []string
	if p.server != nil {
		bases = []string{p.server.String()}
	} else {
		t.step("fetching IANA's list of RDAP servers")
		p.prober.bootstrap.refresh(ctx, p.prober.guard)
		t.again()
		bases = p.prober.bootstrap.of(p.domain)
	}
	if len(bases) == 0 {
		return nil, fail("IANA lists no RDAP server for .%s any more; name one in rdap_server", topLevel(p.domain))
	}
	bases = bases[:min(len(bases), maxRDAPServers)]
	var err error
	for i, base := range bases {
		var found *registration
		part, cancel := share(ctx, len(bases)-i)
		found, err = askRDAP(part, t, p.prober.guard, base, p.domain)
		cancel()
		if _, says := errors.AsType[rdapSilence](err); err == nil || !says {
			p.prober.answers.keep(base, p.domain, found)
			return found, err
		}
	}
	for _, base := range bases {
		known := p.prober.answers.recent(base, p.domain, time.Now())
		if known != nil && !errors.Is(ctx.Err(), context.Canceled) {
			return known, nil
		}
	}
	return nil, err
}

// judge describes the registration and returns why it is a failure, or nil.
func (p domainProbe) judge(found *registration, seen *DomainMetadata) error {
	seen.Statuses = found.statuses
	if !found.expires.IsZero() {
		days := daysUntil(found.expires)
		seen.DaysRemaining, seen.ExpiresAt = &days, found.expires.UTC().Format(time.RFC3339)
		if time.Now().After(found.expires) {
			return fail("the registration of %s expired on %s", p.domain, seen.ExpiresAt)
		}
	}
	for _, status := range found.statuses {
		switch status { // RFC 8056: those of a domain that is lost, or that is not in the DNS
		case "redemption period", "pending delete", "client hold", "server hold":
			return fail("the registration of %s has the status %q", p.domain, status)
		}
	}
	limit := p.config.AlertDaysBefore
	switch {
	case limit == nil:
		return nil
	case seen.DaysRemaining == nil:
		return fail("the registry does not say when %s expires, so alert_days_before cannot be judged", p.domain)
	case *seen.DaysRemaining <= *limit:
		return fail("the registration of %s expires in %d days, on %s", p.domain, *seen.DaysRemaining, seen.ExpiresAt)
	}
	return nil
}
