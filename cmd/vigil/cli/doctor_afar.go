// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/doctor"

	"github.com/vigil-monitor/vigil/internal/instance"
)

// afar looks at a server through its API.
type afar struct {
	*session
	own     string // version of this program
	dataDir string // of the instance on this machine, when it should be the server; "": it should not
	// reached is closed when it is known whether the server answers, and allowed when it is
	// known whether it accepts the key; answers and accepts say so then.
	reached, allowed chan struct{}
	answers, accepts bool
	clock            *doctor.Clock // nil: the server does not say what time it is
}

// afar connects without a note on standard error.
func (e *examination) afar(to target) (*afar, error) {
	silent := *e.con
	silent.Quiet = true
	quick := *e.app
	quick.flags.timeout = e.bound
	s, err := quick.connect(&silent, to)
	if err != nil {
		return nil, err
	}
	found := &afar{session: s, own: e.host.Version, reached: make(chan struct{}), allowed: make(chan struct{})}
	if parsed, err := url.Parse(to.URL); err == nil && loopback(parsed.Hostname()) {
		if _, err := instance.Read(e.dataDir); err == nil {
			found.dataDir = e.dataDir
		}
	}
	return found, nil
}

func (a *afar) probes() []doctor.Probe {
	behind := func(part string, gate func(context.Context) bool, look func(context.Context) ([]doctor.Finding, error)) doctor.Probe {
		return doctor.Probe{Part: part, Look: func(ctx context.Context) []doctor.Finding {
			if !gate(ctx) {
				return nil
			}
			found, err := look(ctx)
			if err != nil {
				return []doctor.Finding{{Part: part, State: doctor.Warn, Message: "not known: " + redacted(err.Error())}}
			}
			return found
		}}
	}
	return []doctor.Probe{
		{Part: "api", Look: a.welcome},
		behind("key", a.isReached, a.key),
		behind("clock", a.isReached, a.difference),
		behind("platform", a.isReached, a.ready),
		behind("regions", a.isAllowed, a.usedRegions),
		behind("deliveries", a.isAllowed, a.exhausted),
		behind("channels", a.isAllowed, a.disabled),
		behind("budget", a.isAllowed, a.budget),
	}
}

func (a *afar) isReached(ctx context.Context) bool {
	select {
	case <-a.reached:
		return a.answers
	case <-ctx.Done():
		return false
	}
}

func (a *afar) isAllowed(ctx context.Context) bool {
	if !a.isReached(ctx) {
		return false
	}
	select {
	case <-a.allowed:
		return a.accepts
	case <-ctx.Done():
		return false
	}
}

// dateHalf is half of the unit of the header Date, a second.
const dateHalf = 500 * time.Millisecond

// welcome asks for what needs no key, and compares the clocks.
func (a *afar) welcome(ctx context.Context) []doctor.Finding {
	defer close(a.reached)
	judged := doctor.API{URL: a.to.URL, Own: a.own, DataDir: a.dataDir}
	if parsed, err := url.Parse(a.to.URL); err == nil {
		judged.Loopback = loopback(parsed.Hostname())
	}
	began := a.Now()
	response, err := a.api.GetWelcome(ctx)
	judged.Took = a.Now().Sub(began)
	if err != nil {
		judged.Problem = redacted(reason(err))
		return []doctor.Finding{judged.Judge()}
	}
	date, dateErr := http.ParseTime(response.Header.Get("Date"))
	answer, _, err := read[client.WelcomeAnswer](a.session, response, nil)
	if err != nil {
		judged.Problem = redacted(err.Error())
		return []doctor.Finding{judged.Judge()}
	}
	if dateErr == nil {
		middle := began.Add(judged.Took / 2)
		a.clock = &doctor.Clock{Ahead: date.Add(dateHalf).Sub(middle), Exact: dateHalf + judged.Took/2}
	}
	judged.Interface, judged.Build = answer.Data.Version, answer.Data.Build
	a.answers = true
	return []doctor.Finding{judged.Judge()}
}

func (a *afar) difference(context.Context) ([]doctor.Finding, error) {
	if a.clock == nil {
		return nil, nil
	}
	return []doctor.Finding{a.clock.Judge()}, nil
}

// key asks what the key may do.
func (a *afar) key(ctx context.Context) ([]doctor.Finding, error) {
	defer close(a.allowed)
	judged := doctor.Key{URL: a.to.URL, From: a.to.KeyFrom, Missing: a.to.Key == "", Now: a.Now()}
	if judged.Missing {
		return []doctor.Finding{judged.Judge()}, nil
	}
	response, err := a.api.GetMe(ctx)
	status := 0
	if response != nil {
		status = response.StatusCode
	}
	answer, body, err := read[client.MeAnswer](a.session, response, err)
	switch {
	case status == http.StatusUnauthorized:
		judged.Problem = refusalOf(body)
		return []doctor.Finding{judged.Judge()}, nil
	case err != nil:
		return nil, err
	}
	a.accepts = true
	judged.Prefix = prefixOf(a.to.Key)
	for _, scope := range answer.Data.Scopes {
		judged.Scopes = append(judged.Scopes, string(scope))
	}
	if key := answer.Data.ApiKey; key != nil {
		judged.Name, judged.Expires = key.Name, key.ExpiresAt
	}
	return []doctor.Finding{judged.Judge()}, nil
}

// refusalOf is the sentence of an answer that is an error.
func refusalOf(body []byte) string {
	var said client.Error
	if json.Unmarshal(body, &said) != nil || said.Error == "" {
		return "the server says nothing more"
	}
	return console.Clean(redacted(said.Error))
}

// ready asks for the parts of the platform. An answer that says what is missing is one.
func (a *afar) ready(ctx context.Context) ([]doctor.Finding, error) {
	response, err := a.api.GetReady(ctx)
	answer, body, err := read[client.ReadyAnswer](a.session, response, err)
	said := answer.Data
	if err != nil {
		var refused struct {
			Details *client.Ready `json:"details"`
		}
		if json.Unmarshal(body, &refused) != nil || refused.Details == nil {
			return nil, err
		}
		said = *refused.Details
	}
	return doctor.Readiness{
		Database: said.Database, Migrations: said.Migrations, Temporal: said.Temporal, Regions: said.Regions, Probing: said.Probing,
		PrivateTargets: value(said.PrivateTargets),
	}.Judge(), nil
}

// disabled asks for the channels that the platform disabled by itself.
func (a *afar) disabled(ctx context.Context) ([]doctor.Finding, error) {
	all, err := list[client.NotificationChannel](a.session, unlimited, func(page client.RequestEditorFn) (*http.Response, error) {
		return a.api.ListNotificationChannels(ctx, &client.ListNotificationChannelsParams{}, page)
	})
	if err != nil {
		return nil, err
	}
	var off []doctor.Channel
	for _, channel := range all.data {
		if channel.DisabledReason != nil && !channel.Enabled {
			off = append(off, doctor.Channel{Name: channel.Name, Reason: console.Clean(redacted(*channel.DisabledReason))})
		}
	}
	return doctor.Channels(off, all.total), nil
}

func (a *afar) budget(ctx context.Context) ([]doctor.Finding, error) {
	response, err := a.api.GetUsage(ctx)
	answer, _, err := read[client.UsageAnswer](a.session, response, err)
	if err != nil {
		return nil, err
	}
	used := answer.Data.ExecutionsPerHour
	return []doctor.Finding{doctor.Budget{Used: int64(used.Used), Limit: value(used.Limit)}.Judge()}, nil
}

// exhaustedFor is how far back deliveries that were given up are looked for.
const exhaustedFor = 7 * 24 * time.Hour

// exhausted asks for the newest deliveries that were given up, by channel.
func (a *afar) exhausted(ctx context.Context) ([]doctor.Finding, error) {
	newest, err := list[client.Delivery](a.session, pageSize, func(page client.RequestEditorFn) (*http.Response, error) {
		return a.api.ListDeliveries(ctx, &client.ListDeliveriesParams{Status: new(client.ListDeliveriesParamsStatusExhausted)}, page)
	})
	if err != nil {
		return nil, err
	}
	var all []doctor.Exhausted
	var first []client.Delivery // the newest of each
	for _, delivery := range newest.data {
		if a.Now().Sub(delivery.CreatedAt) > exhaustedFor {
			continue
		}
		i := slices.IndexFunc(first, func(d client.Delivery) bool { return d.ChannelId == delivery.ChannelId })
		if i < 0 {
			i = len(all)
			first, all = append(first, delivery), append(all, doctor.Exhausted{Channel: delivery.ChannelName})
		}
		all[i].Count++
		all[i].Since = delivery.CreatedAt
	}
	for i := range all {
		all[i].More = newest.more && a.Now().Sub(newest.data[len(newest.data)-1].CreatedAt) <= exhaustedFor
		if all[i].Works, err = a.worksSince(ctx, first[i]); err != nil {
			return nil, err
		}
		if all[i].Reason, err = a.lastError(ctx, first[i]); err != nil {
			return nil, err
		}
	}
	return doctor.Deliveries(all, a.Now()), nil
}

// worksSince reports whether a later delivery to the same channel was delivered.
func (a *afar) worksSince(ctx context.Context, given client.Delivery) (bool, error) {
	params := &client.ListDeliveriesParams{
		Status: new(client.ListDeliveriesParamsStatusDelivered), ChannelId: &given.ChannelId, Limit: new(int64(1)),
	}
	response, err := a.api.ListDeliveries(ctx, params)
	answer, _, err := read[client.DeliveryList](a.session, response, err)
	return len(answer.Data) > 0 && answer.Data[0].CreatedAt.After(given.CreatedAt), err
}

// lastError is why the last attempt of a delivery failed.
func (a *afar) lastError(ctx context.Context, given client.Delivery) (string, error) {
	attempts, err := list[client.Attempt](a.session, pageSize, func(page client.RequestEditorFn) (*http.Response, error) {
		return a.api.ListDeliveryAttempts(ctx, given.Id, &client.ListDeliveryAttemptsParams{}, page)
	})
	last, text := int64(0), ""
	for _, attempt := range attempts.data {
		if attempt.Number >= last {
			last, text = attempt.Number, value(attempt.Error)
		}
	}
	return console.Clean(redacted(text)), err
}
