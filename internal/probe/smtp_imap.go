// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"net"
	"net/mail"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

const (
	maxDelivery     = 60 * time.Second
	maxSessionBytes = 256 << 10 // that a mail server may send
	maxNesting      = 32        // of parentheses in a line that it sends
)

// MailConfig is the config of smtp-imap checks.
type MailConfig struct {
	SMTP               *SMTPServer `json:"smtp,omitempty" title:"Server that takes mail (SMTP)" form:"address" doc:"Server that takes mail; this or imap is required"`
	IMAP               *IMAPServer `json:"imap,omitempty" title:"Server that keeps mail (IMAP)" form:"address" doc:"Server that keeps mail"`
	RoundTrip          *bool       `json:"round_trip,omitempty" title:"Send a message and wait for it" help:"It is marked, and deleted once it has arrived." form:"more,medium" words:"=when both servers are given|true=yes|false=no" doc:"Send a marked message, wait for it in the mailbox and delete it. Default true when both servers are given"`
	From               string      `json:"from,omitempty" title:"Sender" form:"address,mono,half" doc:"Sender of the message, an address" maxLength:"254" example:"probe@example.com"`
	To                 string      `json:"to,omitempty" title:"Receiver" help:"Whose mailbox the IMAP server keeps." form:"address,mono,half" doc:"Receiver of the message, whose mailbox imap is" maxLength:"254" example:"inbox@example.com"`
	MaxDeliverySeconds int         `json:"max_delivery_seconds,omitempty" title:"The message may take, in seconds" help:"What the interval leaves, at most 60, when it is empty." form:"expect,short" sample:"60" doc:"How long the message may take. Default: what the interval leaves, at most 60" minimum:"1" maximum:"3600"`
	TimeoutSeconds     int         `json:"timeout_seconds,omitempty" help:"For each server, besides the delivery." doc:"Longest time for the dialog with each server, besides the delivery. Default: the smaller of 10 and a quarter of the interval" minimum:"1" maximum:"60"`
}

// SMTPServer is where mail is sent to.
type SMTPServer struct {
	Host       string      `json:"host" help:"" place:"text" doc:"Host name or IP address" maxLength:"253" example:"smtp.example.com"`
	Port       int         `json:"port,omitempty" sample:"587" place:"text" doc:"Port. Default 25, 587 or 465 for security none, starttls or tls" minimum:"1" maximum:"65535"`
	Security   string      `json:"security,omitempty" title:"Security" form:"medium" words:"starttls=STARTTLS|tls=TLS|none=none" place:"text" doc:"How the connection is secured" enum:"none,starttls,tls" default:"starttls"`
	Username   string      `json:"username,omitempty" form:"half" doc:"User name; needs starttls or tls" maxLength:"254"`
	Password   string      `json:"password,omitempty" form:"half" secret:"true" doc:"Password" maxLength:"1024"`
	VerifyTLS  bool        `json:"verify_tls,omitempty" place:"text" doc:"Fail when the certificate is not valid for the name" default:"true"`
	ServerName string      `json:"server_name,omitempty" title:"Server name of the certificate" help:"The host, when it is empty." place:"text" doc:"Name to ask for and to verify the certificate against. Default: the host" maxLength:"253"`
	TLS        *TLSOptions `json:"tls,omitempty" doc:"Names and certificates of the TLS connection, from the first byte or after STARTTLS; server_name stands for the member of the same name beside it. Not with security none"`
	HeloName   string      `json:"helo_name,omitempty" title:"Name given in EHLO" form:"medium,mono" doc:"Name that the probe gives in EHLO: a host name, or an address in brackets. Default vigil.invalid" maxLength:"253" example:"probe.example.com"`
}

// IMAPServer is where mail is read from.
type IMAPServer struct {
	Host       string      `json:"host" help:"" place:"text" doc:"Host name or IP address" maxLength:"253" example:"imap.example.com"`
	Port       int         `json:"port,omitempty" sample:"993" place:"text" doc:"Port. Default 143, or 993 for security tls" minimum:"1" maximum:"65535"`
	Security   string      `json:"security,omitempty" title:"Security" form:"medium" words:"starttls=STARTTLS|tls=TLS|none=none" place:"text" doc:"How the connection is secured" enum:"none,starttls,tls" default:"tls"`
	Username   string      `json:"username,omitempty" form:"half" doc:"User name; needs starttls or tls" maxLength:"254"`
	Password   string      `json:"password,omitempty" form:"half" secret:"true" doc:"Password" maxLength:"1024"`
	VerifyTLS  bool        `json:"verify_tls,omitempty" place:"text" doc:"Fail when the certificate is not valid for the name" default:"true"`
	ServerName string      `json:"server_name,omitempty" title:"Server name of the certificate" help:"The host, when it is empty." place:"text" doc:"Name to ask for and to verify the certificate against. Default: the host" maxLength:"253"`
	TLS        *TLSOptions `json:"tls,omitempty" doc:"Names and certificates of the TLS connection, from the first byte or after STARTTLS; server_name stands for the member of the same name beside it. Not with security none"`
	Mailbox    string      `json:"mailbox,omitempty" title:"Mailbox" form:"medium" doc:"Mailbox to open after the login" maxLength:"255" default:"INBOX"`
}

// MailMetadata is the metadata of a result of an smtp-imap check.
type MailMetadata struct {
	Phases       MailPhases `json:"phases" doc:"How long each part took"`
	DeliveryMS   *float64   `json:"delivery_ms,omitempty" doc:"From the acceptance of the message to its arrival in the mailbox, ms"`
	SMTPCertDays *int       `json:"smtp_cert_days_remaining,omitempty" doc:"Whole days until a certificate of the SMTP server expires, of TLS and of STARTTLS: the first of the chain to do so"`
	IMAPCertDays *int       `json:"imap_cert_days_remaining,omitempty" doc:"Whole days until a certificate of the IMAP server expires, as for SMTP"`
	CertDays     *int       `json:"cert_days_remaining,omitempty" doc:"The smaller of the two, which rules on a certificate compare"`
	Deleted      bool       `json:"deleted,omitempty" doc:"The message was removed from the mailbox"`
}

// MailPhases are the parts of a mail check that took place, in milliseconds.
type MailPhases struct {
	SMTPConnect *float64 `json:"smtp_connect_ms,omitempty" doc:"SMTP: resolving, connecting, securing and greeting, ms"`
	SMTPAuth    *float64 `json:"smtp_auth_ms,omitempty" doc:"SMTP: logging in, ms"`
	SMTPSend    *float64 `json:"smtp_send_ms,omitempty" doc:"SMTP: handing the message over, ms"`
	IMAPConnect *float64 `json:"imap_connect_ms,omitempty" doc:"IMAP: resolving, connecting, securing and greeting, ms"`
	IMAPLogin   *float64 `json:"imap_login_ms,omitempty" doc:"IMAP: logging in, ms"`
	IMAPSelect  *float64 `json:"imap_select_ms,omitempty" doc:"IMAP: opening the mailbox, ms"`
}

var _ = register(newSMTPIMAP)

// newSMTPIMAP makes the smtp-imap type.
func newSMTPIMAP(env *environment) Prober { return mailProber{environment: env} }

type mailProber struct{ *environment }

func (mailProber) Type() vigil.CheckType { return vigil.TypeSMTPIMAP }

func (mailProber) Documents() (config, metadata any) { return MailConfig{}, MailMetadata{} }

// Describe says what the type is for.
func (mailProber) Describe() TypeInfo {
	return TypeInfo{Position: 11, About: "A mail arrives", Conditions: []string{vigil.KeySSLDaysRemaining}}
}

func (p mailProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	probe := mailProbe{guard: p.guard.ForMail()}
	c := &probe.config
	var err error
	if probe.hidden, err = p.read(p.Type(), given, c); err != nil {
		return nil, err
	}
	if c.SMTP == nil && c.IMAP == nil {
		return nil, vigil.Invalid("config.smtp", "is required, or config.imap")
	}
	if s := c.SMTP; s != nil {
		port := map[string]int{"none": 25, "starttls": 587, "tls": 465}[s.Security]
		if probe.smtp, err = p.parseServer("config.smtp", s.Host, s.Port, port, s.Security, s.Username, s.Password); err != nil {
			return nil, err
		}
		if probe.smtp.helo, err = parseHELO(s.HeloName); err != nil {
			return nil, err
		}
		if err = probe.smtp.parseTLS("config.smtp", s.VerifyTLS, s.ServerName, s.TLS, p.roots); err != nil {
			return nil, err
		}
	}
	if s := c.IMAP; s != nil {
		port := map[string]int{"none": 143, "starttls": 143, "tls": 993}[s.Security]
		if probe.imap, err = p.parseServer("config.imap", s.Host, s.Port, port, s.Security, s.Username, s.Password); err != nil {
			return nil, err
		}
		if err = probe.imap.parseTLS("config.imap", s.VerifyTLS, s.ServerName, s.TLS, p.roots); err != nil {
			return nil, err
		}
		if !config.IsFieldValue(s.Mailbox) {
			return nil, vigil.Invalid("config.imap.mailbox", "must not contain control characters")
		}
	}
	if err := probe.parseRoundTrip(); err != nil {
		return nil, err
	}
	probe.hidden = probe.hidden.With(redactable(append(probe.smtp.credentials(), probe.imap.credentials()...)...)...)
	return probe, probe.parseTimes(interval)
}

// mailServer is a server of either kind that was read. Its zero value stands
// for none.
type mailServer struct {
	host, address      string
	tls                *tls.Config
	helo               string // SMTP only
	security           string
	username, password string
}

// credentials are the forms in which the password travels besides its own.
func (s mailServer) credentials() []string {
	plain := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	if s.password == "" {
		return nil
	}
	return []string{plain(s.password), plain("\x00" + s.username + "\x00" + s.password)}
}

func (p mailProber) parseServer(path, host string, port, defaultPort int, security, username, password string) (mailServer, error) {
	s := mailServer{security: security, username: username, password: password}
	if port == 0 {
		port = defaultPort
	}
	var err error
	if s.host, err = parseHost(p.guard.ForMail(), path+".host", host, port); err != nil {
		return s, err
	}
	s.address = net.JoinHostPort(s.host, strconv.Itoa(port))
	switch {
	case !config.IsFieldValue(username):
		return s, vigil.Invalid(path+".username", "must not contain control characters")
	case !config.IsFieldValue(password):
		return s, vigil.Invalid(path+".password", "must not contain control characters")
	case username == "" && password != "":
		return s, vigil.Invalid(path+".username", "is required with a password")
	case username != "" && security == "none":
		return s, vigil.Invalid(path+".security", "must be starttls or tls, since a password would travel in clear")
	}
	return s, nil
}

// parseRoundTrip settles whether a message is sent, and between whom.
func (p *mailProbe) parseRoundTrip() error {
	c := &p.config
	both := c.SMTP != nil && c.IMAP != nil
	p.roundTrip = both
	if c.RoundTrip != nil {
		p.roundTrip = *c.RoundTrip
	}
	if !p.roundTrip {
		return nil
	}
	switch {
	case !both:
		return vigil.Invalid("config.round_trip", "needs both smtp and imap")
	case p.imap.username == "":
		return vigil.Invalid("config.imap.username", "is required for a round trip; set round_trip to false to send nothing")
	case !isMailAddress(c.From):
		return vigil.Invalid("config.from", "must be a mail address for a round trip; set round_trip to false to send nothing")
	case !isMailAddress(c.To):
		return vigil.Invalid("config.to", "must be a mail address for a round trip; set round_trip to false to send nothing")
	case p.smtp.username == "" && p.leavesTheInside():
		return vigil.Invalid("config.smtp.username", "is required for a round trip through a public mail server; "+
			"set round_trip to false to send nothing")
	}
	return nil
}

// leavesTheInside reports whether the SMTP server is known to be a public one before its
// name is resolved: by its address, or because no other can be reached.
func (p *mailProbe) leavesTheInside() bool {
	if addr, err := netip.ParseAddr(p.smtp.host); err == nil {
		return p.guard.IsPublic(addr)
	}
	return !p.guard.PrivateOpen()
}

// isMailAddress reports whether a text is an address and nothing more: no name,
// no comment, nothing that could end an SMTP command.
func isMailAddress(text string) bool {
	address, err := mail.ParseAddress(text)
	return err == nil && address.Address == text && isASCII(text) && config.IsFieldValue(text) && !strings.ContainsAny(text, "<>\" ")
}

// parseTimes divides the interval into dialogs and delivery.
func (p *mailProbe) parseTimes(interval time.Duration) error {
	c := &p.config
	p.dialog = min(defaultTimeout, interval/4)
	if c.TimeoutSeconds != 0 {
		p.dialog = time.Duration(c.TimeoutSeconds) * time.Second
	}
	for _, server := range []mailServer{p.smtp, p.imap} {
		if server.host != "" {
			p.deadline += p.dialog
		}
	}
	if p.deadline > interval {
		return vigil.Invalid(
			"config.timeout_seconds", "is the limit for each server and makes %s, which must not exceed the check's interval of %s",
			humanDuration(p.deadline), humanDuration(interval),
		)
	}
	if !p.roundTrip {
		return nil
	}
	p.delivery = min(maxDelivery, interval-p.deadline)
	if c.MaxDeliverySeconds != 0 {
		p.delivery = time.Duration(c.MaxDeliverySeconds) * time.Second
	}
	p.deadline += p.delivery
	if p.deadline > interval || p.delivery <= 0 {
		return vigil.Invalid(
			"config.max_delivery_seconds", "and the dialogs with the servers make %s, which must not exceed the check's interval of %s",
			humanDuration(p.deadline), humanDuration(interval),
		)
	}
	return nil
}

type mailProbe struct {
	guard      *egress.Guard
	config     MailConfig
	smtp, imap mailServer
	roundTrip  bool
	dialog     time.Duration // for each server
	delivery   time.Duration
	deadline   time.Duration
	hidden     *redact.Redactor
}

func (p mailProbe) hides() *redact.Redactor { return p.hidden }

func (p mailProbe) Deadline() time.Duration { return p.deadline }

// Changes says so of every such check, since even a login may count against a limit.
func (p mailProbe) Changes() string {
	return "a check of this type logs in to mail servers or sends mail"
}

func (p mailProbe) Target() string {
	if p.smtp.address != "" {
		return p.smtp.address
	}
	return p.imap.address
}

func (p mailProbe) Run(ctx context.Context) vigil.Observation {
	return observe(ctx, p.guard, p.deadline, p.hidden, func(ctx context.Context, t *timeline) outcome {
		var seen MailMetadata
		err := p.exchange(ctx, t, &seen)
		seen.CertDays = fewer(seen.SMTPCertDays, seen.IMAPCertDays)
		return outcome{metadata: seen, err: err}
	})
}

// fewer returns the smaller of two numbers of days, of which one may be unknown.
func fewer(a, b *int) *int {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// exchange opens the mailbox before anything is sent to it, so that the time of
// delivery is that of the mail alone.
func (p mailProbe) exchange(ctx context.Context, t *timeline, seen *MailMetadata) error {
	var box *mailbox
	if p.imap.host != "" {
		var err error
		if box, err = p.openMailbox(ctx, t, seen); err != nil {
			return err
		}
		defer box.close()
	}
	marker := rand.Text()
	if p.smtp.host != "" {
		if err := p.send(ctx, t, marker, seen); err != nil {
			return err
		}
	}
	if !p.roundTrip {
		return nil
	}
	return p.await(ctx, t, box, marker, seen)
}

// limited runs a part of the exchange under its own limit. That the limit passed
// is the reported error, not that the part's connections were closed by it.
func limited(ctx context.Context, limit time.Duration, t *timeline, part func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := part(within)
	if err != nil && ctx.Err() == nil && errors.Is(within.Err(), context.DeadlineExceeded) {
		return failUnanswered("timed out after %s while %s", humanDuration(limit), t.doing())
	}
	return err
}

// lap returns the milliseconds since an instant, and moves it to now.
func lap(since *time.Time) *float64 {
	now := time.Now()
	ms := math.Round(float64(now.Sub(*since).Microseconds())) / 1000
	*since = now
	return &ms
}
