// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// Options are what a demo needs.
type Options struct {
	// API answers requests to BaseURL as a user who may write.
	API     client.HttpRequestDoer
	BaseURL string
	// File is where the state is kept.
	File     string
	Interval time.Duration // of the check, in whole seconds
	Regions  []string      // of the check; at least one
	Show     func(Event)   // called for one event at a time
	Now      func() time.Time
	Log      *slog.Logger
}

// Demo is a demo that serves its shop and its receiver.
type Demo struct {
	api      *client.Client
	doer     client.HttpRequestDoer
	baseURL  string
	interval time.Duration
	regions  []string
	show     func(Event)
	now      func() time.Time
	log      *slog.Logger

	state    *keeper
	servers  []*http.Server
	ports    []net.Listener
	commands chan command
	ended    chan struct{} // closed by Close

	// What only Run uses.
	began   time.Time
	checkID uuid.UUID
	loopURL string // of a loop of the check in the Temporal UI; "" before it is known
	late    bool   // the present phase was reported as late
	due     time.Time
	handled map[command]func(context.Context) error
}

// Open serves the shop and the receiver on loopback, at the addresses of the last start
// when they are free.
func Open(ctx context.Context, opts Options) (*Demo, error) {
	api, err := client.NewClient(opts.BaseURL, client.WithHTTPClient(opts.API))
	if err != nil {
		return nil, err
	}
	kept, err := openState(opts.File)
	if err != nil {
		return nil, err
	}
	d := &Demo{
		api: api, doer: opts.API, baseURL: opts.BaseURL, interval: opts.Interval, regions: opts.Regions, show: opts.Show,
		now: opts.Now, log: opts.Log, state: kept, commands: make(chan command), ended: make(chan struct{}),
	}
	d.handled = map[command]func(context.Context) error{commandBreak: d.breakByHand, commandRepair: d.repairByHand, commandRemove: d.remove}
	was := kept.get()
	shop, err := d.serve(ctx, was.Shop, d.shop())
	if err != nil {
		return nil, err
	}
	receiver, err := d.serve(ctx, was.Receiver, d.receiver())
	if err != nil {
		d.Close()
		return nil, err
	}
	err = kept.change(func(s *state) { s.Shop, s.Receiver = shop, receiver })
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// URL is where the shop is.
func (d *Demo) URL() string { return "http://" + d.state.get().Shop }

// headerTimeout is how long a client may take to send the headers of a request.
const headerTimeout = 5 * time.Second

// serve answers requests at an address on loopback, or any other one when it is taken.
func (d *Demo) serve(ctx context.Context, address string, handler http.Handler) (string, error) {
	listener, err := listen(ctx, address)
	if err != nil {
		return "", fmt.Errorf("listen for the demo: %w", err)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			d.log.ErrorContext(ctx, "a server of the demo stopped", "error", err)
		}
	}()
	d.servers, d.ports = append(d.servers, server), append(d.ports, listener)
	return listener.Addr().String(), nil
}

// Ports of the demo are below the range of ports that outgoing connections take, so that they
// are free again at the next start.
const (
	lowestPort = 10_000
	ports      = 20_000
	portTries  = 20
)

// listen listens at an address, else at any port on loopback.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	if address != "" {
		if listener, err := config.Listen(ctx, "tcp", address); err == nil {
			return listener, nil
		}
	}
	for range portTries {
		port := lowestPort + rand.N(ports) //nolint:gosec // any port will do
		if listener, err := config.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return listener, nil
		}
	}
	return config.Listen(ctx, "tcp", "127.0.0.1:0")
}

// Close stops the shop and the receiver.
func (d *Demo) Close() {
	close(d.ended)
	for _, port := range d.ports {
		_ = port.Close() // also of a server that does not serve yet
	}
	for _, server := range d.servers {
		_ = server.Close()
	}
}

// applyAgain is how long to wait after definitions could not be applied.
const applyAgain = 2 * time.Second

// errRemoved ends a demo that was removed.
var errRemoved = errors.New("the demo was removed")

// tick is how often the story looks at the platform.
const tick = 250 * time.Millisecond

// Run applies the definitions and plays the story, then follows what happens until ctx ends
// or the demo is removed. It returns an error when the API refuses the definitions.
func (d *Demo) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.began = d.now()
	if err := d.prepare(ctx); err != nil {
		return err
	}
	alerts := make(chan alert)
	go d.follow(ctx, d.state.get().Position, alerts)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case got := <-alerts:
			err = d.alerted(ctx, got)
		case asked := <-d.commands:
			err = d.handled[asked](ctx)
		case <-ticker.C:
			err = d.step(ctx)
		}
		switch {
		case ctx.Err() != nil, errors.Is(err, errRemoved):
			return nil
		case err != nil:
			d.log.DebugContext(ctx, "the demo tries a step again", "error", err)
			d.checkLate()
			_ = timing.Sleep(ctx, tick)
		}
	}
}

// prepare applies the definitions, and begins a story unless one of the same check is under way.
func (d *Demo) prepare(ctx context.Context) (err error) {
	changed := false
	for range 5 {
		if d.checkID, changed, err = d.apply(ctx); err == nil || ctx.Err() != nil {
			break
		}
		_ = timing.Sleep(ctx, applyAgain)
	}
	if err != nil {
		return err
	}
	text := "the definitions of project " + Project + " are as they were"
	if changed {
		text = "project " + Project + ": a check of " + d.URL() + ", a rule and a channel"
	}
	d.emit(Event{Kind: KindApplied, Text: text, CheckID: &d.checkID})
	was := d.state.get()
	if was.CheckID == d.checkID && was.Story.Phase != phaseStarting && was.Story.Phase != phaseHealthy && was.Story.Phase != phaseDone {
		d.late, d.due = false, d.now().Add(lateAfter+d.expected(was.Story.Phase))
		d.emit(Event{Kind: KindResumed, Text: "the story goes on: " + was.describe()})
		return nil
	}
	return d.enter(phaseStarting, func(s *state) {
		s.CheckID, s.Broken, s.Refuse, s.Messages, s.Position, s.Story = d.checkID, false, 0, nil, "", story{}
	})
}

// describe says how far the story had come.
func (s *state) describe() string {
	at := s.Story.Since.Local().Format("15:04:05")
	if s.Broken {
		return "the shop is broken since " + s.Story.Began.Local().Format("15:04:05")
	}
	return "the shop is repaired since " + at
}

// emit shows an event.
func (d *Demo) emit(e Event) {
	e.At = d.now().UTC()
	e.Seconds = float64(d.now().Sub(d.began).Milliseconds()) / 1000
	d.show(e)
}

// enter begins a phase and stores it with other changes.
func (d *Demo) enter(next phase, also func(*state)) error {
	now := d.now()
	err := d.state.change(func(s *state) {
		if also != nil {
			also(s)
		}
		s.Story.Phase, s.Story.Since = next, now.UTC()
	})
	d.late, d.due = false, now.Add(lateAfter+d.expected(next))
	return err
}
