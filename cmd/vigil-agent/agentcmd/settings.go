// SPDX-License-Identifier: Apache-2.0

package agentcmd

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/canary"
	"github.com/vigil-monitor/vigil/internal/egress"
)

// Settings are the settings of an agent. Each is an environment variable, and a flag of the same
// name without VIGIL_AGENT_. The tags are all that the help and docs/settings.md say; they are those of
// platform.Settings.
type Settings struct {
	URL        platformURL     `env:"VIGIL_AGENT_URL" use:"agent" more:"agents.md" section:"Agents" help:"~address~ of the platform, such as https://vigil.example.com"`
	TokenFile  string          `env:"VIGIL_AGENT_TOKEN_FILE" use:"agent" more:"agents.md#install-an-agent" help:"~file~ with the token of the location; it is read again when the platform does not accept the token. VIGIL_AGENT_TOKEN may have the token itself; there is no flag for it, since others on the machine can see flags"`
	DataDir    string          `env:"VIGIL_AGENT_DATA_DIR" use:"agent" more:"agents.md#cut-off" help:"~directory~ for results that could not be sent; each agent has its own"`
	Allow      egress.Prefixes `env:"VIGIL_AGENT_ALLOW" use:"agent" more:"agents.md#private-targets" help:"private ~networks~ that may be probed, as CIDRs with commas; the flag may be repeated (default: public addresses only)"`
	SpoolBytes int64           `env:"VIGIL_AGENT_SPOOL_BYTES" envDefault:"268435456" min:"4194304" max:"1099511627776" use:"agent" more:"agents.md#cut-off" help:"~bytes~ that results may take in the data directory"`
	MaxProbes  int             `env:"VIGIL_AGENT_MAX_PROBES" envDefault:"4096" min:"64" max:"100000" use:"agent" help:"~probes~ that run at the same time; each may take a file descriptor and 100 KiB of memory"`
	Canaries   canary.List     `env:"VIGIL_AGENT_CANARIES" envDefault:"1.1.1.1:53,8.8.8.8:53,9.9.9.9:53" empty:"off" form:"1 to 8 host:port with commas, off or nothing" more:"operations.md#is-it-this-machine" use:"agent" help:"~servers~ that show whether this machine has its line, as host:port with commas: while none of them accepts a connection, failures of public targets are missed slots; off or empty: none"`
	CAFile     caFile          `env:"VIGIL_AGENT_CA_FILE" use:"agent" more:"agents.md#proxies-and-own-certificates" help:"~file~ with certificates of authorities in PEM, which sign that of the platform (default: those of the machine)"`
	Health     hostPort        `env:"VIGIL_AGENT_HEALTH" form:"host:port" use:"agent" more:"agents.md#health" help:"~address~ such as 127.0.0.1:9091 at which /healthz says whether the agent is in contact with the platform (default: no port is opened)"`
	Name       string          `env:"VIGIL_AGENT_NAME" use:"agent" help:"~name~ of this agent, for display (default: that of the machine)"`
	LogLevel   slog.Level      `env:"VIGIL_AGENT_LOG_LEVEL" envDefault:"info" form:"debug, info, warn or error" use:"agent" help:"lowest ~level~ of log lines: debug, info, warn or error"`

	// token is VIGIL_AGENT_TOKEN.
	token string
}

// tokenVariable is the variable with the token itself.
const tokenVariable = "VIGIL_AGENT_TOKEN" //nolint:gosec // the name of a variable

// FlagOf returns the flag of a variable of Settings.
func FlagOf(variable string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "VIGIL_AGENT_"), "_", "-"))
}

// Fields are those of Settings that are settings, in their order.
func Fields() (found []reflect.StructField) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Settings]()) {
		if field.IsExported() {
			found = append(found, field)
		}
	}
	return found
}

// allowFlag is the only flag that may be repeated.
const allowFlag = "allow"

// addSettings adds a flag for every setting.
func addSettings(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.SortFlags = false
	for _, field := range Fields() {
		variable := field.Tag.Get("env")
		help := strings.ReplaceAll(field.Tag.Get("help"), "~", "`") + " [" + variable + "]"
		if flag := FlagOf(variable); flag == allowFlag {
			flags.StringSlice(flag, nil, help)
		} else {
			flags.String(flag, cmp.Or(field.Tag.Get("envDefault"), fallback(variable)), help)
		}
	}
}

// fallback is the default of a setting that depends on the user.
func fallback(variable string) string {
	if variable == "VIGIL_AGENT_DATA_DIR" {
		return defaultDataDir()
	}
	return ""
}

// defaultDataDir is a directory of the user.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/vigil-agent"
	}
	if base := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "vigil-agent")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "vigil-agent")
	}
	return filepath.Join(os.TempDir(), "vigil-agent")
}

// readSettings reads every setting from its flag, else from the environment, else its default. An
// empty variable counts as unset, unless it means something else.
func readSettings(cmd *cobra.Command) (Settings, error) {
	environment := env.ToMap(os.Environ())
	given := make(map[string]string)
	for _, field := range Fields() {
		variable, empty := field.Tag.Get("env"), field.Tag.Get("empty")
		value, set := environment[variable]
		switch flag := cmd.Flag(FlagOf(variable)); {
		case flag != nil && flag.Changed && flag.Name == allowFlag:
			list, _ := cmd.Flags().GetStringSlice(allowFlag)
			value = strings.Join(list, ",")
		case flag != nil && flag.Changed:
			value = cmp.Or(flag.Value.String(), empty)
		case set && value == "":
			value = empty
		}
		if value = cmp.Or(value, field.Tag.Get("envDefault"), fallback(variable)); value != "" {
			given[variable] = value
		}
	}
	read := Settings{token: strings.TrimSpace(environment[tokenVariable])}
	if err := env.ParseWithOptions(&read, env.Options{Environment: given}); err != nil {
		return read, settingsError(err)
	}
	if read.DataDir, _ = filepath.Abs(read.DataDir); read.Name == "" {
		read.Name, _ = os.Hostname()
	}
	return read, read.validate()
}

// settingsError names settings by their variables, where package env names fields.
func settingsError(err error) error {
	aggregate, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return err
	}
	var named []error
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
	return fmt.Errorf("%s (--%s) %w", variable, FlagOf(variable), err)
}

// validate checks ranges, and what must be given.
func (s *Settings) validate() error {
	var errs []error
	values := reflect.ValueOf(s).Elem()
	for _, field := range Fields() {
		low, high := field.Tag.Get("min"), field.Tag.Get("max")
		if low == "" {
			continue
		}
		least, _ := strconv.ParseInt(low, 10, 64)
		most, _ := strconv.ParseInt(high, 10, 64)
		if value := values.FieldByIndex(field.Index).Int(); value < least || value > most {
			errs = append(errs, wrongSetting(field.Tag.Get("env"), fmt.Errorf("is %d; it must lie between %d and %d", value, least, most)))
		}
	}
	if s.URL == "" {
		errs = append(errs, errors.New("VIGIL_AGENT_URL (--url) is missing: give the address of the platform, such as https://vigil.example.com"))
	}
	if (s.TokenFile == "") == (s.token == "") {
		errs = append(errs, errors.New("give the token of the location either by a file, with VIGIL_AGENT_TOKEN_FILE (--token-file), "+
			"or by the variable VIGIL_AGENT_TOKEN"))
	}
	return errors.Join(errs...)
}

// Token returns the token of the location. Its error does not repeat it.
func (s *Settings) Token() (string, error) {
	token := s.token
	if s.TokenFile != "" {
		text, err := os.ReadFile(s.TokenFile)
		if err != nil {
			return "", fmt.Errorf("read the token: %w", err)
		}
		token = strings.TrimSpace(string(text))
	}
	if !strings.HasPrefix(token, agentlink.TokenPrefix) || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf(
			"what is given as token is none: one begins with %s; `vigil location rotate-token` makes another one",
			agentlink.TokenPrefix,
		)
	}
	return token, nil
}

// platformURL is the address of a platform, without a slash at its end.
type platformURL string

// UnmarshalText reads it.
func (u *platformURL) UnmarshalText(text []byte) error {
	parsed, err := url.Parse(string(text))
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" ||
		parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return errors.New("must be an address such as https://vigil.example.com")
	}
	parsed.Scheme, parsed.Host = strings.ToLower(parsed.Scheme), strings.ToLower(parsed.Host)
	*u = platformURL(strings.TrimRight(parsed.String(), "/"))
	return nil
}

// hostPort is an address to listen on.
type hostPort string

// UnmarshalText reads host:port.
func (h *hostPort) UnmarshalText(text []byte) error {
	_, port, err := net.SplitHostPort(string(text))
	if err != nil {
		return fmt.Errorf("is %q; it must be host:port, such as 127.0.0.1:9091", text)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("is %q; the port must be a number from 0 to 65535, and 0 takes a free one", text)
	}
	*h = hostPort(text)
	return nil
}
