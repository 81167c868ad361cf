package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"vigil"
)

const tagStream = "Alert stream"

// StreamConfig holds the settings of the alert stream. Zero members mean their
// defaults.
type StreamConfig struct {
	PerKey, PerOrganization int           // streams that may be open at a time: 10, 50
	Buffer                  time.Duration // how far back a stream can begin: 7 days
	Heartbeat               time.Duration // between two comments: 15 s
	WriteDeadline           time.Duration // for a client to take what is sent: 5 s
}

func (c StreamConfig) withDefaults() StreamConfig {
	or := func(set, usual time.Duration) time.Duration {
		if set > 0 {
			return set
		}
		return usual
	}
	if c.PerKey <= 0 {
		c.PerKey = 10
	}
	if c.PerOrganization <= 0 {
		c.PerOrganization = 50
	}
	c.Buffer = or(c.Buffer, 7*24*time.Hour)
	c.Heartbeat = or(c.Heartbeat, 15*time.Second)
	c.WriteDeadline = or(c.WriteDeadline, 5*time.Second)
	return c
}

func (s *Server) registerStream() {
	const path = "/v1/stream/alerts"
	register(s, operation{
		method: http.MethodGet, path: path, id: "stream-alerts", tag: tagStream,
		summary: "Follow every alert of the organization as it happens",
		description: "Server-sent events. The event is the type (incident.triggered, incident.acknowledged, incident.resolved), the data is the body of a webhook. " +
			"Ids are `<unix ms>-<seq>`; seq grows by one with each event of the organization. The stream begins with an id and no data: that of the newest event, or where it resumes. " +
			"`stream.gap` with `requested` and `oldest` comes first when events were asked for that are not kept any more. " +
			"By default 10 streams may be open for a key and 50 for an organization, in each process of the API.",
		errors: []int{http.StatusTooManyRequests, http.StatusServiceUnavailable},
	}, s.streamAlerts)
	operationAt(s.huma.OpenAPI(), http.MethodGet, path).Responses["200"].Content = map[string]*huma.MediaType{
		eventStream: {Schema: &huma.Schema{Type: huma.TypeString, Description: "Server-sent events."}},
	}
}

type streamInput struct {
	LastEventID string `header:"Last-Event-ID" doc:"Resume behind this id; it wins over since."`
	Since       string `query:"since" doc:"Begin behind this id; 0-0 for all that is kept. Without it the stream begins now." example:"0-0"`
}

// start is the position behind which the stream begins; nil: now.
func (in *streamInput) start() (*vigil.Position, error) {
	var from *vigil.Position
	for _, given := range []struct{ member, text string }{{"since", in.Since}, {"Last-Event-ID", in.LastEventID}} {
		if given.text == "" {
			continue
		}
		position, err := vigil.ParsePosition(given.member, given.text)
		if err != nil {
			return nil, err
		}
		from = &position
	}
	return from, nil
}

// streamAlerts answers everything that can be refused before the stream begins:
// once it has, all that can be done is to end it.
func (s *Server) streamAlerts(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	from, err := in.start()
	if err != nil {
		return nil, err
	}
	who := caller(ctx)
	seat, err := s.streams.join(who)
	if err != nil {
		return nil, err
	}
	st := &stream{server: s, seat: seat, org: who.org.ID, since: s.Now().Add(-s.streams.config.Buffer)}
	if err := st.begin(ctx, from); err != nil {
		seat.leave()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(answer huma.Context) {
		defer seat.leave()
		st.run(ctx, answer)
	}}, nil
}

// stream is one connection. It reads by a cursor of its own: there is no queue
// that could overflow, and nothing that a slow client could hold up.
type stream struct {
	server *Server
	seat   *seat
	org    uuid.UUID
	since  time.Time // where the buffer begins, for as long as it lasts
	cursor vigil.Position
	gap    *gapView
	// credentials of the request, to be asked about again.
	authorization, apiKey string
	failing               bool // the last read failed
}

// gapView is the data of stream.gap.
type gapView struct {
	Requested string  `json:"requested"`
	Oldest    *string `json:"oldest"` // null when nothing is kept
}

// begin finds where the stream begins. Its first frame tells the client that
// position, so that one that is cut off before its first event resumes there.
func (st *stream) begin(ctx context.Context, from *vigil.Position) error {
	oldest, newest, err := st.server.Store.StreamBounds(ctx, st.org, st.since)
	if err != nil {
		return err
	}
	if from == nil {
		st.cursor = newest
		return nil
	}
	st.cursor = *from
	switch {
	case *from == vigil.Position{}: // all that is kept
	case behind(newest, *from):
		st.cursor = newest // an id that this stream never sent
	case lost(*from, oldest, newest, st.since):
		st.gap = &gapView{Requested: from.String()}
		if oldest.Seq > 0 {
			st.gap.Oldest = new(oldest.String())
		}
	}
	return nil
}

// lost reports whether events behind a position are not kept any more. Seq grows
// by one, so an id that was sent tells it exactly; one that was made up of a
// time (<unix ms>-0) only when that time lies in the buffer.
func lost(from, oldest, newest vigil.Position, since time.Time) bool {
	if from.MS >= since.UnixMilli() {
		return false
	}
	next := oldest.Seq
	if next == 0 { // nothing is kept
		next = newest.Seq + 1
	}
	return from.Seq+1 < next
}

// behind reports whether a comes before b.
func behind(a, b vigil.Position) bool { return a.MS < b.MS || a.MS == b.MS && a.Seq < b.Seq }

const (
	// streamTick is how often a stream asks whether its credential still holds.
	// Together with authBelief it stays below the 5 s in which a revocation acts.
	streamTick = 500 * time.Millisecond
	// streamPage is how many events are read at a time, streamChunk how many
	// bytes are collected before they are sent.
	streamPage  = 100
	streamChunk = 32 << 10
)

// run sends until the client leaves, does not keep up or loses its credential,
// or the server is shut down.
func (st *stream) run(ctx context.Context, answer huma.Context) {
	config := st.server.streams.config
	st.authorization, st.apiKey = answer.Header("Authorization"), answer.Header("X-API-Key")
	out := newFrames(answer, config.WriteDeadline)
	if answer.Method() == http.MethodHead || !out.open(st.cursor, st.gap) {
		return
	}
	tick := time.NewTicker(streamTick)
	defer tick.Stop()
	heartbeat := time.NewTicker(config.Heartbeat)
	defer heartbeat.Stop()
	for {
		if !st.forward(ctx, out) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-st.server.streams.closing:
			return
		case <-st.seat.wake:
		case <-heartbeat.C:
			if !out.comment() {
				return
			}
		case <-tick.C:
			if !st.welcome(ctx) {
				return
			}
		}
	}
}

// forward sends what is new when there may be something; false ends the stream.
func (st *stream) forward(ctx context.Context, out *frames) bool {
	for st.seat.stale() || st.failing {
		events, err := st.server.streams.read(ctx, st.seat, st.cursor, st.since)
		if err != nil {
			if !st.failing && ctx.Err() == nil {
				requestOf(ctx).log().LogAttrs(ctx, slog.LevelWarn, "stream cannot read events", slog.Any("error", err))
			}
			st.failing = true // the next tick tries again
			return true
		}
		st.failing = false
		for i := range events {
			if !out.event(&events[i]) {
				return false
			}
			st.cursor = events[i].Position
		}
		if !out.flush() {
			return false
		}
		if len(events) == streamPage {
			st.seat.again()
		}
	}
	return true
}

// welcome reports whether the credential of the stream still holds. Not being
// able to ask is not a no.
func (st *stream) welcome(ctx context.Context) bool {
	_, err := st.server.auth.identify(ctx, st.authorization, st.apiKey)
	return vigil.ErrorCode(err) != vigil.CodeUnauthorized
}

// EndStreams ends every alert stream, which no request would do by itself, and
// refuses new ones. A server that shuts down does not have to wait for them then.
func (s *Server) EndStreams() { s.streams.end() }
