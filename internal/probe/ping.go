// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	probing "github.com/prometheus-community/pro-bing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// PingConfig is the config of ping checks.
type PingConfig struct {
	Host                 string  `json:"host" doc:"Host name or IP address to ping" maxLength:"253" example:"example.com"`
	PacketCount          int     `json:"packet_count,omitempty" title:"Packets" form:"more,short" doc:"Echo requests to send" minimum:"1" maximum:"10" default:"3"`
	MaxPacketLossPercent float64 `json:"max_packet_loss_percent,omitempty" title:"Packets that may be lost, in percent" form:"expect,medium" doc:"Share of lost packets above which the check fails" minimum:"0" maximum:"99" default:"0"`
	IPVersion            string  `json:"ip_version,omitempty" doc:"IP version to ping with. any: both, one beside the other when the first does not reply within 250 ms; the address that replies first counts" enum:"any,4,6" default:"any"`
	TimeoutSeconds       int     `json:"timeout_seconds,omitempty" doc:"Longest time for everything, at most the interval. Default: the smaller of 10 and the interval" minimum:"1" maximum:"60"`
}

// PingMetadata is the metadata of a result of a ping check.
type PingMetadata struct {
	IP                string   `json:"ip,omitempty" doc:"Address that was pinged"`
	DNS               *float64 `json:"dns_ms,omitempty" doc:"Resolving the name, ms"`
	PacketsSent       int      `json:"packets_sent" doc:"Echo requests sent"`
	PacketsReceived   int      `json:"packets_received" doc:"Echo replies received"`
	PacketLossPercent float64  `json:"packet_loss_percent" doc:"Share of requests without a reply, 0 to 100"`
	RTTMin            *float64 `json:"rtt_min_ms,omitempty" doc:"Shortest round trip, ms"`
	RTTAvg            *float64 `json:"rtt_avg_ms,omitempty" doc:"Mean round trip, ms"`
	RTTMax            *float64 `json:"rtt_max_ms,omitempty" doc:"Longest round trip, ms"`
}

var _ = register(newPing)

// newPing makes the ping type.
func newPing(env *environment) Prober { return &pingProber{environment: env} }

// pingProber knows which kind of ICMP socket this machine permits.
type pingProber struct {
	*environment

	mu      sync.Mutex
	sockets map[string]bool // by network (ip4, ip6): privileged; absent: none works
	checked time.Time
}

func (*pingProber) Type() vigil.CheckType { return vigil.TypePing }

func (*pingProber) Documents() (config, metadata any) { return PingConfig{}, PingMetadata{} }

// Describe says what the type is for.
func (*pingProber) Describe() TypeInfo {
	return TypeInfo{Position: 7, About: "ICMP round trip"}
}

func (p *pingProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	probe := pingProbe{prober: p, guard: p.guard}
	var err error
	if probe.hidden, err = p.read(p.Type(), given, &probe.config); err != nil {
		return nil, err
	}
	if probe.host, err = parseHost(p.guard, "config.host", probe.config.Host, 0); err != nil {
		return nil, err
	}
	probe.deadline, err = timeout(probe.config.TimeoutSeconds, interval)
	return probe, err
}

var errNoICMP error = noICMP{}

type noICMP struct{}

func (noICMP) Error() string { return "ping is not available in this region: its machine forbids ICMP" }

// Local says that the error is about this machine: another IP version may be permitted.
func (noICMP) Local() bool { return true }

// Available reports whether this machine permits ICMP of either IP version.
func (p *pingProber) Available(ctx context.Context) error {
	if len(p.permitted(ctx)) == 0 {
		return errNoICMP
	}
	return nil
}

// permitted tries, for each IP version, an unprivileged socket and then a raw
// one on the loopback address: some machines refuse the first even to root,
// most refuse the second to everyone else. It looks again after a minute.
func (p *pingProber) permitted(ctx context.Context) map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sockets != nil && time.Since(p.checked) < time.Minute {
		return p.sockets
	}
	found := make(map[string]bool)
	for network, loopback := range map[string]string{"ip4": "127.0.0.1", "ip6": "::1"} {
		for _, privileged := range []bool{false, true} {
			if canPing(ctx, loopback, privileged) {
				found[network] = privileged
				break
			}
		}
	}
	if ctx.Err() == nil {
		p.sockets, p.checked = found, time.Now()
	}
	return found
}

// canPing reports whether an echo request can be sent at all. That it is
// answered is not needed: a firewall may drop replies on the loopback.
func canPing(ctx context.Context, address string, privileged bool) bool {
	pinger := newPinger(netip.MustParseAddr(address), privileged)
	pinger.Count, pinger.Timeout = 1, 50*time.Millisecond
	err := pinger.RunWithContext(ctx)
	return err == nil && pinger.Statistics().PacketsSent > 0
}

func newPinger(addr netip.Addr, privileged bool) *probing.Pinger {
	pinger := probing.New("")
	pinger.SetLogger(probing.NoopLogger{})
	pinger.SetPrivileged(privileged)
	pinger.SetIPAddr(&net.IPAddr{IP: addr.AsSlice(), Zone: addr.Zone()})
	return pinger
}

type pingProbe struct {
	hidden   *redact.Redactor
	prober   *pingProber
	guard    *egress.Guard
	config   PingConfig
	host     string
	deadline time.Duration
}

func (p pingProbe) Deadline() time.Duration { return p.deadline }

func (p pingProbe) Target() string { return p.host }

// Run pings. Where the machine forbids ICMP the observation is Unavailable: it
// says nothing about the target.
func (p pingProbe) Run(ctx context.Context) vigil.Observation {
	unavailable := false
	seen := observe(ctx, p.guard, p.deadline, p.hidden, func(ctx context.Context, t *timeline) outcome {
		var seen PingMetadata
		err := p.ping(ctx, t, &seen)
		unavailable = errors.Is(err, errNoICMP)
		if unavailable {
			err = verdict(errNoICMP.Error())
		}
		return outcome{metadata: seen, err: err}
	})
	seen.Unavailable = unavailable
	if rtt, ok := seen.Metadata["rtt_avg_ms"].(float64); ok {
		seen.ResponseTime = time.Duration(rtt * float64(time.Millisecond))
	}
	return seen
}

func (p pingProbe) ping(ctx context.Context, t *timeline, seen *PingMetadata) error {
	t.step("waiting for echo replies")
	network := "ip" + strings.TrimPrefix(p.config.IPVersion, "any")
	sockets := p.prober.permitted(ctx)
	first := make(chan *echoes, 1)
	used, err := egress.Connect(ctx, p.guard, network, net.JoinHostPort(p.host, "0"),
		func(attempt context.Context, to netip.AddrPort) (*echoes, error) {
			return p.begin(ctx, attempt, t, to.Addr(), sockets, first)
		},
		func(late *echoes) { late.stop() })
	seen.DNS = t.timings().DNS
	if silent, ok := errors.AsType[*echoes](err); ok {
		used, err = silent, nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		// On a busy machine the deadline comes before the end of the requests is noticed.
		select {
		case used = <-first:
			used.stop()
			err = nil
		default:
		}
	}
	if err != nil {
		return err
	}
	seen.IP = used.addr.String()
	if err := used.wait(); err != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("ping: %w", err)
	}
	used.note()
	return p.judge(used.pinger.Statistics(), seen)
}

// begin sends echo requests to an address, and returns with the first reply; the requests go on
// until ctx ends. The error is the *echoes when all got none. first is handed those of the address
// that is tried first.
func (p pingProbe) begin(
	ctx, attempt context.Context, t *timeline, addr netip.Addr, sockets map[string]bool, first chan<- *echoes,
) (*echoes, error) {
	if err := p.guard.CheckHost(addr.String(), 0); err != nil {
		return nil, err
	}
	addr = addr.Unmap()
	network := "ip6"
	if addr.Is4() {
		network = "ip4"
	}
	privileged, ok := sockets[network]
	if !ok {
		return nil, errNoICMP
	}
	t.step("waiting for echo replies")
	life, stop := context.WithCancel(ctx)
	e := &echoes{addr: addr, pinger: newPinger(addr, privileged), end: stop, ended: make(chan struct{})}
	e.pinger.Count = p.config.PacketCount
	e.pinger.Interval = min(200*time.Millisecond, p.deadline/time.Duration(2*p.config.PacketCount))
	// The last replies are judged before the deadline of the whole run.
	e.pinger.Timeout = p.replyTimeout(ctx)
	e.note = notePackets(t.recorder, e.pinger, p.config.PacketCount)
	replied, noted := make(chan struct{}), e.pinger.OnRecv
	var once sync.Once
	e.pinger.OnRecv = func(packet *probing.Packet) {
		if noted != nil {
			noted(packet)
		}
		once.Do(func() { close(replied) })
	}
	go func() {
		defer close(e.ended)
		e.err = e.pinger.RunWithContext(life)
	}()
	select {
	case first <- e:
	default:
	}
	select {
	case <-replied:
		return e, nil
	case <-attempt.Done():
		e.stop()
		return nil, attempt.Err()
	case <-e.ended:
	}
	stop()
	if e.err != nil {
		return nil, fmt.Errorf("ping: %w", e.err)
	}
	if e.pinger.Statistics().PacketsRecv > 0 {
		return e, nil
	}
	return nil, e
}

// echoes are the requests to one address.
type echoes struct {
	addr   netip.Addr
	pinger *probing.Pinger
	note   func() // adds the packets to the evidence
	end    context.CancelFunc
	ended  chan struct{}
	err    error // once they ended
}

// Error makes requests without a reply an error.
func (e *echoes) Error() string { return "no echo reply from " + e.addr.String() }

// wait returns when the last request was answered, or the time for it is over.
func (e *echoes) wait() error {
	<-e.ended
	e.end()
	return e.err
}

// stop ends the requests.
func (e *echoes) stop() {
	e.end()
	<-e.ended
}

// replyTimeout is how long replies are waited for: what is left, but a little.
func (p pingProbe) replyTimeout(ctx context.Context) time.Duration {
	left := p.deadline
	if until, ok := ctx.Deadline(); ok {
		left = time.Until(until)
	}
	return max(left-min(left/10, 100*time.Millisecond), time.Millisecond)
}

func (p pingProbe) judge(stats *probing.Statistics, seen *PingMetadata) error {
	seen.PacketsSent, seen.PacketsReceived = stats.PacketsSent, stats.PacketsRecv
	// Packets that were still to be sent when time ran out are lost, too.
	lost := p.config.PacketCount - stats.PacketsRecv
	seen.PacketLossPercent = 100 * float64(lost) / float64(p.config.PacketCount)
	if stats.PacketsRecv > 0 {
		low, mean, high := milliseconds(stats.MinRtt), milliseconds(stats.AvgRtt), milliseconds(stats.MaxRtt)
		seen.RTTMin, seen.RTTAvg, seen.RTTMax = &low, &mean, &high
	}
	if stats.PacketsRecv == 0 {
		return failUnanswered("none of %d echo requests was answered within %s", p.config.PacketCount, humanDuration(p.deadline))
	}
	if seen.PacketLossPercent > p.config.MaxPacketLossPercent {
		return failUnanswered("%d of %d echo requests had no reply (%s %%), expected at most %s %%",
			lost, p.config.PacketCount, percent(seen.PacketLossPercent), percent(p.config.MaxPacketLossPercent))
	}
	return nil
}

// percent writes a share with the decimals that it needs, at most 2, so that two that differ do not
// look alike.
func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*100)/100, 'f', -1, 64)
}
