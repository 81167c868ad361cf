// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// canary is part of every secret, address and text of TestHistories.
const canary = "canary-5b1e"

// canaryChecks are configs that together have every secret member of the check types that have
// any. Nothing listens at these targets.
func canaryChecks(t *testing.T, dead string) map[vigil.CheckType][]object {
	t.Helper()
	at := func(scheme string) string {
		return scheme + "://" + dead + "/" + canary + "?q=" + canary + "&token=" + canary
	}
	secret := object{"X-Api-Key": canary, "Cookie": canary}
	identity := canaryIdentity(t)
	login := func(scheme string) object {
		return object{
			"url": at(scheme), "method": "POST", "body": canary, "body_secret": true, "headers": secret, "tls": identity,
			"basic_auth": object{"username": canary, "password": canary},
		}
	}
	grant := func(scheme string, proxied bool) object {
		config := object{"url": at(scheme), "oauth2": object{
			"token_url": at("http"), "client_id": canary, "client_secret": canary,
		}}
		if proxied {
			config["proxy"], config["proxy_auth"] = "http://"+dead, object{"username": canary, "password": canary}
		}
		return config
	}
	server := object{"host": "127.0.0.1", "port": 1, "security": "tls", "username": canary, "password": canary, "tls": identity}
	return map[vigil.CheckType][]object{
		vigil.TypeHTTP:       {login("http"), grant("http", true)},
		vigil.TypeHTTPS:      {login("https"), grant("https", true)},
		vigil.TypeHTTP3:      {login("https"), grant("https", false)},
		vigil.TypeThroughput: {{"url": at("http"), "tls": identity}},
		vigil.TypeTCP:        {{"host": "127.0.0.1", "port": 1, "security": "tls", "tls": identity}},
		vigil.TypeSSL:        {{"host": "127.0.0.1", "port": 1, "tls": identity}},
		vigil.TypeGRPC:       {{"host": "127.0.0.1", "port": 1, "headers": secret, "tls": identity}},
		vigil.TypeWebSocket:  {{"url": at("wss"), "headers": secret, "tls": identity}},
		vigil.TypeMultistep:  {{"steps": []object{{"name": "log in", "type": "http", "config": login("http")}}}},
		vigil.TypeSMTPIMAP: {{
			"smtp": server, "imap": server, "from": canary + "@example.com", "to": canary + "@example.com", "timeout_seconds": 1,
		}},
	}
}

// canaryIdentity is the member tls with a client certificate, whose key begins with the canary.
func canaryIdentity(t *testing.T) object {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, request, request, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return object{
		"client_certificate": block("CERTIFICATE", certificate),
		"client_key":         canary + "\n" + block("PRIVATE KEY", secret),
	}
}

// canaryChannels are configs that together have every secret member of the channel types. The
// receiver refuses all messages and repeats a part of what it gets.
func canaryChannels(receiver string) map[vigil.ChannelType][]object {
	at := receiver + "/" + canary
	return map[vigil.ChannelType][]object{
		vigil.ChannelEmail: {{"to": []string{canary + "@example.com"}}},
		vigil.ChannelWebhook: {{
			"url": at, "secret": canary, "headers": object{"Authorization": "Bearer " + canary, "X-Token": canary},
		}},
		vigil.ChannelPush: {
			{"server": receiver, "topic": canary, "username": canary, "password": canary},
			{"format": "pushover", "server": receiver, "token": canary, "user_key": canary},
		},
		vigil.ChannelChat: {
			{"webhook_url": at},
			{"format": "telegram", "server": receiver, "token": "1:" + canary, "chat_id": "1"},
		},
		vigil.ChannelPager: {
			{"url": at, "routing_key": canary},
			{"format": "alertmanager", "url": receiver, "username": canary, "api_key": canary},
		},
	}
}

// together has the members of all configs.
func together(configs []object) object {
	all := object{}
	for _, config := range configs {
		maps.Copy(all, config)
	}
	return all
}

// covers fails the test when a config lacks a secret member.
func covers(t *testing.T, at string, fields secret.Fields, config any) {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if (fields.Secret || fields.ByName) && !bytes.Contains(text, []byte(canary)) {
		t.Errorf("the test has no secret in %s", at)
	}
	members, _ := config.(object)
	for name, inner := range fields.Members {
		value := members[name]
		if list, ok := value.([]object); ok && len(list) > 0 {
			value = list[0]
		}
		if value == nil {
			t.Errorf("the test has no %s.%s", at, name)
			continue
		}
		covers(t, at+"."+name, inner, value)
	}
}

// TestHistories runs loops, incidents and deliveries of all types that have secrets,
// with a note and an address, and finds none of them in the histories of workflows.
func TestHistories(t *testing.T) {
	timingtest.Parallel(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("no: " + r.URL.Path + r.Header.Get("Authorization")))
	}))
	t.Cleanup(receiver.Close)
	checks, channels := canaryChecks(t, freeAddress(t)), canaryChannels(receiver.URL)
	for kind, fields := range probe.Secrets() {
		if kind == vigil.TypeHTTP3 { // goes over UDP, and refuses a proxy
			fields.Members = maps.Clone(fields.Members)
			maps.DeleteFunc(fields.Members, func(name string, _ secret.Fields) bool { return strings.HasPrefix(name, "proxy") })
		}
		covers(t, string(kind), fields, together(checks[kind]))
	}
	for kind, fields := range notify.Secrets() {
		covers(t, string(kind), fields, together(channels[kind]))
	}

	dsn := database(t)
	p := up(t, dataDir(t), "VIGIL_REGIONS="+clusterRegion, "DATABASE_URL="+dsn, fastSchedule)
	query(t, dsn, "UPDATE users SET email = '"+canary+"@example.com'")
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	var ids []string // of the channels
	secrets := []string{canary}
	for kind, configs := range channels {
		for _, config := range configs {
			var made struct {
				ID string `json:"id"`
			}
			c.into(&made, http.MethodPost, "/v1/notification-channels", object{"name": "a channel", "type": kind, "config": config})
			ids = append(ids, made.ID)
			if kind == vigil.ChannelWebhook { // the canary signs beside the new secret from now on
				var rotated struct{ Secret string }
				c.into(&rotated, http.MethodPost, "/v1/notification-channels/"+made.ID+"/rotate-secret", nil)
				secrets = append(secrets, rotated.Secret)
			}
		}
	}
	var made []string // checks
	for kind, configs := range checks {
		for _, config := range configs {
			var one check
			c.into(&one, http.MethodPost, "/v1/checks", object{
				"name": string(kind), "type": kind, "interval_seconds": 3, "regions": []string{clusterRegion}, "config": config,
			})
			// Every other channel, so that all are tried by as few deliveries as show it.
			half := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Index(ids, id)%2 != len(made)%2 })
			c.into(nil, http.MethodPost, "/v1/checks/"+one.ID+"/alerts", object{
				"name": "down", "condition": object{"failure_threshold": 1}, "notification_channel_ids": half, "notify_on": "both",
			})
			made = append(made, one.ID)
		}
	}
	incidents := awaitIncidentsOf(c, len(made))
	for _, id := range incidents {
		var answer struct {
			By   string `json:"acknowledged_by"`
			Note string `json:"note"`
		}
		c.act(&answer, id, "acknowledge", nil)
		if answer.By != canary+"@example.com" {
			t.Errorf("acknowledged by %q", answer.By)
		}
		c.act(&answer, id, "resolve", object{"note": "It was " + canary + "."})
		if answer.Note != "It was "+canary+"." {
			t.Errorf("the note is %q", answer.Note)
		}
	}
	eventually(t, "every channel was tried", func() bool {
		var untried []object
		c.into(&untried, http.MethodGet, "/v1/deliveries?limit=100", nil)
		untried = slices.DeleteFunc(untried, func(d object) bool { return d["attempts"] != 0.0 || d["status"] == "superseded" })
		return len(untried) == 0
	})
	testByHand(t, c, canary)
	scanActivities(t, p.ready.TemporalAddress)
	kinds := scanHistories(t, p.ready.TemporalAddress, secrets...)
	for _, kind := range []string{"check", "incident", "delivery"} {
		if kinds[kind] < len(made) {
			t.Errorf("%d histories of %s workflows, want %d at least", kinds[kind], kind, len(made))
		}
	}
}

// awaitIncidentsOf waits for incidents and returns their ids.
func awaitIncidentsOf(c client, count int) (ids []string) {
	c.t.Helper()
	eventually(c.t, "every check has an incident", func() bool {
		var all []struct {
			ID string `json:"id"`
		}
		c.into(&all, http.MethodGet, "/v1/incidents?status=active&limit=100", nil)
		ids = ids[:0]
		for _, one := range all {
			ids = append(ids, one.ID)
		}
		return len(ids) == count
	})
	return ids
}

// scanHistories fails the test for every event of a workflow that contains one of the secrets.
// It returns how many histories it read, by the first part of the workflow's id.
func scanHistories(t *testing.T, address string, secrets ...string) map[string]int {
	t.Helper()
	c := dialTemporal(t, address, "vigil")
	defer c.Close()
	listed, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, found := range listed.GetExecutions() {
		id := found.GetExecution().GetWorkflowId()
		kind, _, _ := strings.Cut(id, "/")
		kinds[kind]++
		events := c.GetWorkflowHistory(t.Context(), id, found.GetExecution().GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				t.Fatal(err)
			}
			scanEvent(t, id, event, secrets)
		}
	}
	return kinds
}

func scanEvent(t *testing.T, workflow string, event *historypb.HistoryEvent, secrets []string) {
	t.Helper()
	raw, err := proto.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets {
		if at := bytes.Index(raw, []byte(secret)); at >= 0 {
			t.Errorf("%s, event %d (%s): %q", workflow, event.GetEventId(), event.GetEventType(), raw[max(0, at-80):min(len(raw), at+80)])
		}
	}
}
