// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/smtpdialog"
)

// Each type here parses one kind of value. An error completes a sentence that begins
// with the setting's name, and repeats the value unless it is a secret.

// HostPort is an address to listen on. An empty host is every address.
type HostPort string

// UnmarshalText reads host:port.
func (h *HostPort) UnmarshalText(text []byte) error {
	host, port, err := net.SplitHostPort(string(text))
	if err != nil {
		return fmt.Errorf("is %q; it must be host:port, such as 127.0.0.1:8080", text)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("is %q; the port must be a number from 0 to 65535, and 0 takes a free one", text)
	}
	*h = HostPort(net.JoinHostPort(host, port))
	return nil
}

// Port is the part after the host.
func (h HostPort) Port() string {
	_, port, _ := net.SplitHostPort(string(h))
	return port
}

// Loopback reports whether only this machine can reach the address.
func (h HostPort) Loopback() bool {
	host, _, _ := net.SplitHostPort(string(h))
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// Reachable is the address for a client on this machine.
func (h HostPort) Reachable() string {
	host, port, _ := net.SplitHostPort(string(h))
	addr, err := netip.ParseAddr(host)
	if host == "" || err == nil && addr.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// RegionList are region keys, without duplicates, in the order given.
type RegionList []string

// UnmarshalText reads the keys of regions, separated by commas.
func (r *RegionList) UnmarshalText(text []byte) error {
	var keys []string
	for name := range strings.SplitSeq(string(text), ",") {
		switch name = strings.TrimSpace(name); name {
		case "all":
			keys = append(keys, vigil.RegionKeys()...)
			continue
		case "primary":
			keys = append(keys, primaryRegions()...)
			continue
		}
		region, ok := vigil.RegionByKey(name)
		if !ok {
			return fmt.Errorf("names the unknown region %q; it must be all, primary, or some of: %s",
				name, strings.Join(vigil.RegionKeys(), ", "))
		}
		keys = append(keys, region.Key)
	}
	*r = nil
	for _, key := range keys {
		if !slices.Contains(*r, key) {
			*r = append(*r, key)
		}
	}
	return nil
}

func primaryRegions() []string {
	var keys []string
	for _, region := range vigil.Regions() {
		if region.Primary {
			keys = append(keys, region.Key)
		}
	}
	return keys
}

// Tier is a tier of the spec.
type Tier account.Tier

// UnmarshalText reads the name of a tier.
func (t *Tier) UnmarshalText(text []byte) error {
	switch named := account.Tier(text); named {
	case account.TierFree, account.TierPaid, account.TierEnterprise:
		*t = Tier(named)
		return nil
	default:
		return fmt.Errorf("is %q; it must be free, paid or enterprise", text)
	}
}

// publicURL is an absolute http or https URL without a slash at its end.
type publicURL string

func (p *publicURL) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("is %q; it must be an address such as https://vigil.example.com", text)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must hold no user, query or fragment")
	}
	*p = publicURL(strings.TrimRight(u.String(), "/"))
	return nil
}

// loopback reports whether the address is one of this machine.
func (p publicURL) loopback() bool {
	u, err := url.Parse(string(p))
	return err == nil && HostPort(net.JoinHostPort(u.Hostname(), "0")).Loopback()
}

// payloadCodec says whether what Temporal stores is encrypted.
type payloadCodec string

const (
	codecOff     payloadCodec = "off"
	codecEncrypt payloadCodec = "encrypt"
)

func (c *payloadCodec) UnmarshalText(text []byte) error {
	switch named := payloadCodec(text); named {
	case codecOff, codecEncrypt:
		*c = named
		return nil
	default:
		return fmt.Errorf("is %q; it must be off or encrypt", text)
	}
}

// webOrigin is the origin of a web page: scheme, host and port (RFC 6454).
type webOrigin string

func (o *webOrigin) UnmarshalText(text []byte) error {
	var base publicURL
	if err := base.UnmarshalText(text); err != nil {
		return err
	}
	u, err := url.Parse(string(base))
	if err != nil || u.Path != "" {
		return fmt.Errorf("is %q; it must have no path, such as https://temporal.example.com", text)
	}
	*o = webOrigin(strings.ToLower(u.Scheme + "://" + u.Host))
	return nil
}

// hosts are the host of the origin, if there is one, without its port.
func (o webOrigin) hosts() []string {
	u, err := url.Parse(string(o))
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return []string{strings.ToLower(u.Hostname())}
}

// smtpURL is the address of a mail server. It may hold a password.
type smtpURL string

func (s *smtpURL) UnmarshalText(text []byte) error {
	if _, err := mail.New(mail.Options{URL: string(text), Dialer: new(net.Dialer)}); err != nil {
		return fmt.Errorf("cannot be used: %w", err)
	}
	*s = smtpURL(text)
	return nil
}

// smtpHelo is the name of this platform in EHLO.
type smtpHelo string

func (s *smtpHelo) UnmarshalText(text []byte) error {
	if len(text) > 0 && !smtpdialog.ValidName(string(text)) {
		return fmt.Errorf("is %q; it must be a domain such as vigil.example.com, or an address in brackets such as [192.0.2.1]", text)
	}
	*s = smtpHelo(text)
	return nil
}

// deliverySchedule are the waits between the attempts of a delivery.
type deliverySchedule vigil.RetrySchedule

func (d *deliverySchedule) UnmarshalText(text []byte) error {
	waits, err := vigil.ParseRetrySchedule(string(text))
	if err != nil {
		return fmt.Errorf("is %q: %w", text, err)
	}
	if most := len(vigil.DefaultRetrySchedule()); len(waits) > most {
		return fmt.Errorf("has %d waits; it must have at most %d, since a delivery has at most %d attempts", len(waits), most, most+1)
	}
	*d = deliverySchedule(waits)
	return nil
}

// SecretKeys are keys of 32 bytes; the first seals, all of them open.
type SecretKeys [][]byte

// UnmarshalText reads keys in hexadecimal or base64, separated by commas; the first one is in use.
func (s *SecretKeys) UnmarshalText(text []byte) error {
	*s = nil
	for part := range strings.SplitSeq(string(text), ",") {
		key, err := decodeKey(strings.TrimSpace(part))
		if err != nil {
			return err
		}
		*s = append(*s, key)
	}
	return nil
}

// decodeKey decodes 32 bytes in hexadecimal or base64. 64 hexadecimal digits would
// be base64 of 48 bytes too, so the length decides.
func decodeKey(text string) ([]byte, error) {
	decoders := []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	}
	for _, decode := range decoders {
		if key, err := decode(text); err == nil && len(key) == 32 {
			return key, nil
		}
	}
	return nil, errors.New("must be 32 bytes in hexadecimal or base64; make one with: openssl rand -hex 32")
}

// logLevel is a level of slog.
type logLevel slog.Level

func (l *logLevel) UnmarshalText(text []byte) error {
	switch strings.ToLower(string(text)) {
	case "debug":
		*l = logLevel(slog.LevelDebug)
	case "info":
		*l = logLevel(slog.LevelInfo)
	case "warn":
		*l = logLevel(slog.LevelWarn)
	case "error":
		*l = logLevel(slog.LevelError)
	default:
		return fmt.Errorf("is %q; it must be debug, info, warn or error", text)
	}
	return nil
}

// parseDuration parses Go's durations, and whole days such as 90d.
func parseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n <= 36_500 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("is %q; it must be a duration such as 500ms, 30s, 72h or 90d", text)
	}
	return d, nil
}

// headerList are headers of requests, as name=value with commas. Values may be credentials, so
// no error repeats one.
type headerList map[string]string

func (h *headerList) UnmarshalText(text []byte) error {
	*h = headerList{}
	for pair := range strings.SplitSeq(string(text), ",") {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || !httpguts.ValidHeaderFieldName(name) || err != nil || !httpguts.ValidHeaderFieldValue(decoded) {
			return errors.New("must be name=value with commas, and % in a value must be %25")
		}
		(*h)[name] = decoded
	}
	return nil
}
