// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	_ "embed" // IANA's list
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/internal/egress"
)

const (
	// bootstrapURL is where IANA lists the RDAP servers of registries (RFC 9224, section 4).
	bootstrapURL = "https://data.iana.org/rdap/dns.json"
	maxBootstrap = 4 << 20
	// bootstrapAge is how long a list is used before it is fetched again.
	bootstrapAge = 24 * time.Hour
	// bootstrapPause is the time between two attempts to fetch it.
	bootstrapPause = time.Hour
	// bootstrapLimit bounds an attempt.
	bootstrapLimit = 3 * time.Second
)

// bootstrapCopy is IANA's list as of its member publication: what is used until the list can be
// fetched.
//
//go:embed rdap_dns.json
var bootstrapCopy []byte

// WithBootstrap replaces IANA's list of RDAP servers: the URL that it is fetched from, and the
// copy that is used until then. It is for tests.
func WithBootstrap(from string, list []byte) Option {
	return func(env *environment) { env.bootstrap = newBootstrap(from, list) }
}

// bootstrap knows the RDAP servers of registries. It is shared by all domain checks of a process.
type bootstrap struct {
	from string

	mu       sync.Mutex
	servers  map[string][]string // by domain, in lower case and without a dot at its end
	due      time.Time           // when it is to be fetched
	fetching bool
}

// newBootstrap begins with a list. One that cannot be read is a mistake in the code.
func newBootstrap(from string, list []byte) *bootstrap {
	servers, err := readBootstrap(list)
	if err != nil {
		panic(fmt.Sprintf("probe: the copy of the RDAP bootstrap: %v", err))
	}
	return &bootstrap{from: from, servers: servers}
}

// readBootstrap reads a list in the form of RFC 9224, section 4: each service is a list of
// domains and one of the base URLs of their servers. Services with more members are read alike.
func readBootstrap(text []byte) (map[string][]string, error) {
	var list struct {
		Services [][][]string `json:"services"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	servers := make(map[string][]string)
	for _, service := range list.Services {
		if len(service) < 2 {
			continue
		}
		var bases []string
		for _, base := range service[1] {
			if parsed, err := url.Parse(base); err == nil && (parsed.Scheme == "https" || parsed.Scheme == "http") && parsed.Host != "" {
				bases = append(bases, base)
			}
		}
		// An https URL is preferred (section 3).
		slices.SortStableFunc(bases, func(a, b string) int { return strings.Compare(scheme(b), scheme(a)) })
		for _, domain := range service[0] {
			if len(bases) > 0 {
				servers[strings.ToLower(strings.TrimSuffix(domain, "."))] = bases
			}
		}
	}
	if len(servers) == 0 {
		return nil, errors.New("the list names no server")
	}
	return servers, nil
}

func scheme(address string) string {
	found, _, _ := strings.Cut(address, "://")
	return found
}

// of returns the base URLs for a domain: those of the longest name in the list that it ends
// with (RFC 9224, section 4). None: IANA knows no server.
func (b *bootstrap) of(domain string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := domain; ; {
		if found := b.servers[name]; found != nil {
			return found
		}
		_, rest, more := strings.Cut(name, ".")
		if !more {
			return b.servers[""]
		}
		name = rest
	}
}

// refresh fetches the list when it is too old. What is known stays when that fails, and while
// another probe fetches it.
func (b *bootstrap) refresh(ctx context.Context, guard *egress.Guard) {
	if !b.begin(time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(withoutValues{ctx}, bootstrapLimit)
	defer cancel()
	servers, err := b.fetch(ctx, guard) //nolint:contextcheck // it has the deadline of the other
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fetching, b.due = false, time.Now().Add(bootstrapPause)
	if err == nil {
		b.servers, b.due = servers, time.Now().Add(bootstrapAge)
	}
}

// begin reports whether the caller is to fetch the list.
func (b *bootstrap) begin(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fetching || now.Before(b.due) {
		return false
	}
	b.fetching = true
	return true
}

func (b *bootstrap) fetch(ctx context.Context, guard *egress.Guard) (map[string][]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.from, nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("User-Agent", userAgent)
	response, err := guard.Client(ctx, egress.ClientOptions{UserAgent: userAgent}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBootstrap))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return readBootstrap(text)
}

// withoutValues hides the values of a context, so that what an exchange of the probe itself does
// is in no trace of the target.
type withoutValues struct{ context.Context }

func (withoutValues) Value(any) any { return nil }
