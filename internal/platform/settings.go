// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/vigil-monitor/vigil/internal/canary"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/storage"
)

// Settings are all settings of an operator. Each is an environment variable, and a flag
// of the same name without VIGIL_ (VIGIL_DATA_DIR is --data-dir). The tags are all that
// the help and docs/settings.md say:
//
//   - help: the word between tildes is the placeholder of the value
//   - min, max: the range of the value, which CheckRanges holds; because: why it ends there
//   - form: what else is accepted, in words
//   - bare: what the flag means without a value
//   - empty: what an empty variable means; without it one counts as unset
//   - use: the commands that read the setting
//   - section: the heading of docs/settings.md that begins with this field
//   - more: the part of docs that explains it
type Settings struct {
	DataDir           string         `env:"VIGIL_DATA_DIR" use:"up api worker keys orgs login-link migrate health backup restore restored" section:"Where data is" help:"~directory~ of the private Postgres and the secret key"`
	DatabaseURL       string         `env:"DATABASE_URL" secret:"yes" use:"up api worker temporal keys orgs login-link migrate health backup restore restored" help:"~URL~ of a Postgres to use instead of a private one"`
	DatabasePooler    storage.Pooler `env:"VIGIL_DATABASE_POOLER" envDefault:"auto" form:"auto, none or transaction" more:"operations.md#behind-pgbouncer" use:"up api worker keys orgs login-link migrate health backup restore restored" help:"~pooler~ between this process and Postgres: transaction (PgBouncer with pool_mode = transaction), none, or auto to detect one"`
	ReadDatabaseURL   string         `env:"VIGIL_READ_DATABASE_URL" secret:"yes" more:"operations.md#reads-from-a-standby" use:"up api" help:"~URL~ of a standby of that database, from which requests that change nothing are answered (default: none)"`
	ResultsDatabases  ResultsList    `env:"VIGIL_RESULTS_DATABASE_URL" secret:"yes" more:"operations.md#results-of-their-own" use:"up api worker migrate" help:"~URL~ of a Postgres for results alone; with _ and a region at its end, as in VIGIL_RESULTS_DATABASE_URL_EU_CENTRAL_FRA, for those of that region (default: with everything else)"`
	TemporalAddress   string         `env:"TEMPORAL_ADDRESS" use:"up api worker temporal deployment backup restore" help:"~host:port~ of a Temporal server to use instead of the embedded one (TLS and keys: Temporal's own TEMPORAL_ variables)"`
	TemporalNamespace string         `env:"TEMPORAL_NAMESPACE" envDefault:"vigil" use:"up api worker temporal deployment" help:"Temporal ~namespace~ of all workflows"`
	TemporalTokenFile string         `env:"VIGIL_TEMPORAL_API_KEY_FILE" use:"up api worker temporal deployment backup restore" more:"operations.md#tls-and-keys" help:"~file~ with the token for Temporal, instead of TEMPORAL_API_KEY; it is read again, so that a token can be exchanged before it ends"`

	Apply string `env:"VIGIL_APPLY" more:"monitoring-as-code.md#let-the-server-apply-the-files" use:"up api" section:"Definitions in files" help:"~path~ of a file or directory of definitions (see vigil apply) to apply at the start and when its content changes"`

	ApplyVariables []string `env:"VIGIL_APPLY_VARIABLES" more:"monitoring-as-code.md#let-the-server-apply-the-files" use:"up api" help:"~names~ of the environment variables that these files may use, with commas (default none)"`

	Listen         HostPort        `env:"VIGIL_LISTEN" envDefault:"127.0.0.1:8080" use:"up api worker health login-link" section:"Addresses" help:"address of the API, as ~host:port~"`
	PublicURL      publicURL       `env:"VIGIL_PUBLIC_URL" use:"up api worker temporal" help:"~URL~ under which people reach the API (default http:// and the address of the API)"`
	TrustedProxies egress.Prefixes `env:"VIGIL_TRUSTED_PROXIES" more:"operations.md#what-may-be-reached" use:"up api worker" help:"~networks~ of proxies whose X-Forwarded-For header is trusted, as CIDRs with commas"`
	TemporalListen HostPort        `env:"VIGIL_TEMPORAL_LISTEN" envDefault:"127.0.0.1:7233" use:"up temporal" help:"address of the embedded Temporal server, as ~host:port~"`
	UIListen       HostPort        `env:"VIGIL_UI_LISTEN" envDefault:"127.0.0.1:8233" use:"up temporal" help:"address of the embedded Temporal UI, as ~host:port~"`
	MetricsListen  HostPort        `env:"VIGIL_METRICS_LISTEN" more:"operations.md#what-to-watch" use:"up api worker temporal" help:"address of the metrics and profiles of this process, as ~host:port~, for operators' networks only (default: none)"`

	SecretKeys       SecretKeys   `env:"VIGIL_SECRET_KEY" secret:"yes" more:"operations.md#tls-and-keys" use:"up api worker keys backup restore" section:"Secrets" help:"~key~ of 32 bytes in hexadecimal or base64 that seals secrets; followed by older ones with commas (default: generated in the data directory)"`
	PayloadCodec     payloadCodec `env:"VIGIL_PAYLOAD_CODEC" envDefault:"off" form:"off or encrypt" more:"temporal.md#encrypting-payloads" use:"up api worker temporal" help:"~codec~ of what Temporal stores: off, or encrypt, which encrypts it by VIGIL_SECRET_KEY; either reads both"`
	TemporalUIOrigin webOrigin    `env:"VIGIL_TEMPORAL_UI_ORIGIN" more:"temporal.md#reading-payloads" use:"up api temporal" help:"~origin~ of the Temporal UI that may use the codec endpoint of the API, such as https://temporal.example.com (default: that of the embedded UI)"`

	Regions             RegionList      `env:"VIGIL_REGIONS" envDefault:"all" use:"up" section:"Probing" help:"~regions~ that vigil up probes from (vigil worker has --region): all, primary, or keys and cloud names with commas"`
	AllowedPrivateCIDRs egress.Prefixes `env:"VIGIL_ALLOWED_PRIVATE_CIDRS" more:"operations.md#what-may-be-reached" use:"up api worker" help:"private ~networks~ that may be probed although others can reach the API, as CIDRs with commas"`
	MaxProbes           int             `env:"VIGIL_MAX_PROBES" envDefault:"4096" min:"64" max:"100000" more:"operations.md#too-much-to-probe" use:"up worker" help:"~probes~ that one process runs at the same time; each may take a file descriptor and 100 KiB of memory"`
	TurnRate            turnRate        `env:"VIGIL_TURN_RATE" envDefault:"auto" form:"auto or 0 to 1000" more:"operations.md#turns" use:"up worker" help:"~activities~ a second that the loops of one worker process may start while nothing changes; with more slots than that one activity covers several; auto: 5 while each slot has one, and beyond as many as take 1 % of the machine's time; 0: one activity for each slot"`
	QuietWindow         time.Duration   `env:"VIGIL_QUIET_WINDOW" envDefault:"6h" min:"0" max:"6h" more:"operations.md#turns" use:"up worker" help:"longest ~duration~ that one activity may cover; 0: one activity for each slot"`

	Small smallMode `env:"VIGIL_SMALL" envDefault:"auto" bare:"on" form:"auto, on or off" more:"operations.md#small-machines" use:"up temporal" help:"~mode~ for little memory, with smaller caches and fewer connections: on, off, or auto, which is on below 2 GiB"`

	Canaries canary.List `env:"VIGIL_CANARIES" envDefault:"1.1.1.1:53,8.8.8.8:53,9.9.9.9:53" empty:"off" form:"1 to 8 host:port with commas, off or nothing" more:"operations.md#is-it-this-machine" use:"up worker" help:"~servers~ that show whether this machine has its line, as host:port with commas: while none of them accepts a connection, failures of public targets are missed slots; off or empty: none"`

	SMTPURL          smtpURL          `env:"VIGIL_SMTP_URL" secret:"yes" use:"up api worker" section:"Messages" help:"~URL~ of the mail server, smtp:// or smtps://user:password@host:port?from=address (default: mail is written to the data directory)"`
	SMTPHelo         smtpHelo         `env:"VIGIL_SMTP_HELO" use:"up api worker" help:"~name~ that the mail server is given in EHLO: a domain, or an address in brackets such as [192.0.2.1] (default: the name of the machine where it has a dot, else its address in brackets)"`
	DeliverySchedule deliverySchedule `env:"VIGIL_DELIVERY_SCHEDULE" envDefault:"5s,30s,2m,10m,30m,2h,5h,10h,14h,20h,24h" form:"1 to 11 durations with commas" use:"up api worker" help:"~waits~ between the attempts of a delivery, at most 11, as durations with commas; push, chat and pager use the first 5"`
	RecoveryRate     int              `env:"VIGIL_RECOVERY_RATE" envDefault:"10" min:"1" max:"1000" more:"webhooks.md#sending-again" use:"up worker" help:"~messages~ a second that a recovery of a channel sends at most"`

	SignupTier             Tier          `env:"VIGIL_SIGNUP_TIER" envDefault:"free" form:"free, paid or enterprise" use:"up api" section:"Organizations and their limits" help:"~tier~ of new organizations: free, paid or enterprise"`
	EnterpriseMinInterval  time.Duration `env:"VIGIL_ENTERPRISE_MIN_INTERVAL" envDefault:"1s" form:"whole seconds, at least 1s" use:"up api" help:"smallest interval of the enterprise tier, as a ~duration~ of whole seconds"`
	EnterpriseRate         int64         `env:"VIGIL_ENTERPRISE_RATE" envDefault:"0" min:"0" use:"up api" help:"~requests~ a minute that an organization of the enterprise tier may make; 0: any number"`
	AddressRate            int           `env:"VIGIL_ADDRESS_RATE" envDefault:"20" min:"0" use:"up api" help:"~requests~ a minute that one address may make without a credential, in each process of the API; 0: any number, as while only this machine can reach the API"`
	UnverifiedPerAddress   int           `env:"VIGIL_UNVERIFIED_PER_ADDRESS" envDefault:"100" min:"0" use:"up api" help:"~organizations~ without a verified address that one address may make in 14 days; 0: any number, as while only this machine can reach the API"`
	UnverifiedTotal        int           `env:"VIGIL_UNVERIFIED_TOTAL" envDefault:"20000" min:"0" use:"up api" help:"~organizations~ without a verified address that may be made in 14 days in all; 0: any number, as while only this machine can reach the API"`
	StreamsPerKey          int           `env:"VIGIL_STREAMS_PER_KEY" envDefault:"10" min:"1" use:"up api" help:"alert ~streams~ that one key may have open at a time in one process"`
	StreamsPerOrganization int           `env:"VIGIL_STREAMS_PER_ORGANIZATION" envDefault:"50" min:"1" use:"up api" help:"alert ~streams~ that one organization may have open at a time in one process"`

	ResultRetention   time.Duration `env:"VIGIL_RESULT_RETENTION" envDefault:"90d" min:"1d" because:"results are dropped by the day" more:"operations.md#retention" use:"up worker" section:"How long data is kept" help:"~duration~ for which results are kept"`
	RollupRetention   time.Duration `env:"VIGIL_ROLLUP_RETENTION" envDefault:"396d" form:"at least VIGIL_RESULT_RETENTION" use:"up worker" help:"~duration~ for which hourly rollups of results are kept"`
	EventRetention    time.Duration `env:"VIGIL_EVENT_RETENTION" envDefault:"7d" min:"1h" because:"a client that was cut off must be able to resume" use:"up worker" help:"~duration~ for which the alert stream can be resumed"`
	AttemptRetention  time.Duration `env:"VIGIL_ATTEMPT_RETENTION" envDefault:"30d" min:"7d" because:"a delivery can take days" use:"up worker" help:"~duration~ for which attempts of deliveries are kept, and a delivery can be sent again"`
	IncidentRetention time.Duration `env:"VIGIL_INCIDENT_RETENTION" envDefault:"400d" min:"7d" because:"a delivery can take days" use:"up worker" help:"~duration~ for which resolved incidents are kept, with their deliveries; VIGIL_ATTEMPT_RETENTION when that is longer"`
	AuditRetention    time.Duration `env:"VIGIL_AUDIT_RETENTION" envDefault:"400d" min:"1d" use:"up worker" help:"~duration~ for which the audit log is kept"`
	TemporalRetention time.Duration `env:"VIGIL_TEMPORAL_RETENTION" envDefault:"72h" min:"1h" because:"Temporal accepts no less" use:"up temporal" help:"~duration~ for which closed workflows stay in Temporal: the embedded one, or any that vigil temporal setup prepares"`

	DeploymentName string `env:"VIGIL_DEPLOYMENT_NAME" more:"temporal.md#rolling-out-a-build-of-the-workers" use:"worker deployment" section:"Builds of the workers" help:"~name~ of the Worker Deployment that vigil worker belongs to, for Worker Versioning in Temporal (default: not versioned)"`
	BuildID        string `env:"VIGIL_BUILD_ID" use:"worker" help:"~build~ of this program in the Worker Deployment (default: its version)"`

	LogLevel logLevel `env:"VIGIL_LOG_LEVEL" envDefault:"info" form:"debug, info, warn or error" use:"up api worker temporal deployment" section:"Log" help:"lowest ~level~ of log lines: debug, info, warn or error"`

	OTLPEndpoint publicURL     `env:"VIGIL_OTLP_ENDPOINT" more:"operations.md#opentelemetry" use:"up api worker temporal" section:"OpenTelemetry" help:"base ~URL~ of an OTLP/HTTP receiver for the metrics and traces of this process, such as http://otel-collector:4318 (default: none, and nothing is recorded)"`
	OTLPHeaders  headerList    `env:"VIGIL_OTLP_HEADERS" secret:"yes" form:"name=value with commas" more:"operations.md#opentelemetry" use:"up api worker temporal" help:"~headers~ of the requests to it, such as a credential, as name=value with commas; %2C is a comma in a value"`
	OTLPInterval time.Duration `env:"VIGIL_OTLP_INTERVAL" envDefault:"30s" min:"1s" max:"10m" more:"operations.md#opentelemetry" use:"up api worker temporal" help:"~duration~ between two exports of metrics"`
}

// Setting describes one field of settings.
type Setting struct {
	Variable string // of the environment
	Fallback string
	Empty    string // what an empty variable means; empty: it counts as unset
	Help     string
	Bare     string // the value of its flag without one; empty: the flag needs one
	Secret   bool   // its value is never repeated
	Field    reflect.StructField
}

// Flag is the setting's name on the command line.
func (s Setting) Flag() string {
	name := strings.TrimPrefix(s.Variable, "VIGIL_")
	return strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}

// AllSettings are the fields of settings, in their order.
func AllSettings() []Setting {
	fields := reflect.VisibleFields(reflect.TypeFor[Settings]())
	all := make([]Setting, len(fields))
	for i, field := range fields {
		all[i] = Setting{
			Variable: field.Tag.Get("env"),
			Fallback: field.Tag.Get("envDefault"),
			Empty:    field.Tag.Get("empty"),
			Bare:     field.Tag.Get("bare"),
			Help:     strings.ReplaceAll(field.Tag.Get("help"), "~", "`"),
			Secret:   field.Tag.Get("secret") != "",
			Field:    field,
		}
	}
	return all
}

// ParseSettings reads every setting from the values of variables, else its default. The error
// names each setting with a wrong value. An empty variable counts as unset, unless the tag empty
// says otherwise; given is changed so that it has what counts.
func ParseSettings(given map[string]string) (Settings, error) {
	for _, s := range AllSettings() {
		switch {
		case s.Empty != "" && isEmpty(given, s.Variable):
			given[s.Variable] = s.Empty
		case given[s.Variable] != "":
		case s.Fallback != "":
			given[s.Variable] = s.Fallback
		default:
			delete(given, s.Variable)
		}
	}
	var read Settings
	err := env.ParseWithOptions(&read, env.Options{
		Environment: given,
		FuncMap: map[reflect.Type]env.ParserFunc{
			reflect.TypeFor[time.Duration](): func(text string) (any, error) { return parseDuration(text) },
		},
	})
	if err != nil {
		return Settings{}, settingsError(err)
	}
	if err := read.ResultsDatabases.addRegions(given); err != nil {
		return Settings{}, err
	}
	if read.PublicURL == "" {
		read.PublicURL = publicURL("http://" + read.Listen.Reachable())
	}
	if read.DataDir, err = filepath.Abs(read.DataDir); err != nil {
		return Settings{}, fmt.Errorf("VIGIL_DATA_DIR: %w", err)
	}
	return read, read.validate()
}

// isEmpty reports whether a variable is set to nothing.
func isEmpty(given map[string]string, variable string) bool {
	value, set := given[variable]
	return set && value == ""
}

// Local reports whether only users of this machine can reach the API, directly or
// through a proxy.
func (s *Settings) Local() bool {
	return s.Listen.Loopback() && s.PublicURL.loopback() && len(s.TrustedProxies) == 0
}

// settingsError names settings by their variables, where package env names fields.
func settingsError(err error) error {
	aggregate, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return err
	}
	named := make([]error, 0, len(aggregate.Errors))
	for _, err := range aggregate.Errors {
		if wrong, ok := errors.AsType[env.ParseError](err); ok {
			field, _ := reflect.TypeFor[Settings]().FieldByName(wrong.Name)
			err = wrongSetting(field.Tag.Get("env"), wrong.Err)
		}
		named = append(named, err)
	}
	return errors.Join(named...)
}

func wrongSetting(variable string, err error) error {
	return fmt.Errorf("%s (--%s) %w", variable, Setting{Variable: variable}.Flag(), err)
}

// validate checks ranges, and settings that depend on each other.
func (s *Settings) validate() error {
	errs := CheckRanges(s)
	wrong := func(variable, format string, args ...any) {
		errs = append(errs, wrongSetting(variable, fmt.Errorf(format, args...)))
	}
	if d := s.EnterpriseMinInterval; d < time.Second || d%time.Second != 0 {
		wrong("VIGIL_ENTERPRISE_MIN_INTERVAL", "is %v; it must be whole seconds, at least 1s", d)
	}
	if s.RollupRetention < s.ResultRetention {
		wrong("VIGIL_ROLLUP_RETENTION", "is %v; it must not be less than VIGIL_RESULT_RETENTION, %v", s.RollupRetention, s.ResultRetention)
	}
	if strings.ContainsAny(s.DeploymentName, ".:") || strings.HasPrefix(s.DeploymentName, "__") {
		wrong("VIGIL_DEPLOYMENT_NAME", "is %q; Temporal accepts no name with . or : in it, or __ before it", s.DeploymentName)
	}
	if strings.HasPrefix(s.BuildID, "__") {
		wrong("VIGIL_BUILD_ID", "is %q; Temporal accepts no build with __ before it", s.BuildID)
	}
	if s.TemporalAddress == "" && s.TemporalListen.Port() != "0" && s.TemporalListen == s.UIListen {
		wrong("VIGIL_UI_LISTEN", "is %s, which is VIGIL_TEMPORAL_LISTEN too; choose another port for one of them", s.UIListen)
	}
	if s.Listen.Port() != "0" && (s.Listen == s.TemporalListen || s.Listen == s.UIListen) && s.TemporalAddress == "" {
		wrong("VIGIL_LISTEN", "is %s, which the embedded Temporal server or its UI has too; choose another port for one of them", s.Listen)
	}
	return errors.Join(errs...)
}

// Retention is the default retention with that of the settings.
func (s *Settings) Retention() storage.Retention {
	keep := storage.DefaultRetention()
	keep.Results, keep.Rollups = s.ResultRetention, s.RollupRetention
	keep.Events, keep.Attempts = s.EventRetention, s.AttemptRetention
	keep.Incidents, keep.Audit = max(s.IncidentRetention, s.AttemptRetention), s.AuditRetention
	return keep
}
