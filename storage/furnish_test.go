// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage"
)

// furnished is an organization with something in every table that has organizations: an open
// incident whose opening was sent, a page, a window, members, and what requests leave.
type furnished struct {
	*alerts

	owner    account.User
	incident uuid.UUID
}

func furnish(t *testing.T, s *storage.Store, c *clock) *furnished {
	t.Helper()
	f := &furnished{alerts: newAlertsOn(t, s, c, vigil.NotifyBoth, vigil.ChannelWebhook)}
	owners, err := s.Owners(t.Context(), f.org.ID)
	if err != nil || len(owners) != 1 {
		t.Fatalf("owners %v, %v", owners, err)
	}
	f.owner = owners[0]
	f.incident = f.open(f.fails(newark)).Incident.ID
	f.deliver(f.incident, vigil.ChannelWebhook)
	newMember(t, s, f.org, f.owner, account.RoleViewer)
	made := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	made(s.CreateInvitation(t.Context(), newInvitation(f.org, f.owner), account.Credential{}, false))
	made(s.CreateStatusPage(t.Context(), overview.StatusPage{OrgID: f.org.ID, Slug: uuid.NewString(), Title: "Acme"}))
	f.subscribe(vigil.ChannelWebhook, nil, "*")
	hash := uuid.New()
	made(s.CreateKey(t.Context(), f.org.ID, f.owner.ID, account.NewKey{Name: "k", Prefix: "vgl_", Hash: hash[:]}))
	maintain(t, s, maintenanceDraft{org: f.org.ID, checks: []uuid.UUID{f.check.ID}, starts: epoch(), ends: epoch().Add(time.Hour)})
	gone := newCheck(t, s, draft(f.org.ID, newark))
	if _, err := s.DeleteCheck(t.Context(), f.org.ID, gone.ID, nil); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO audit_log (id, org_id, at, action, key_prefix, members, request_id, address, user_agent) " +
			"VALUES (gen_random_uuid(), ?0, now(), 'check.create', '', '{}', '', '', '')",
		"INSERT INTO rate_windows (org_id, started, leased, granted) VALUES (?0, now(), 1, 1)",
		"INSERT INTO running_tests (org_id, id, ends) VALUES (?0, gen_random_uuid(), now())",
		"INSERT INTO check_trials (id, org_id, type, config, target, interval_ms, ends) " +
			"VALUES (gen_random_uuid(), ?0, 'tcp', '{}', '', 1, now())",
		"INSERT INTO check_creations (org_id, at) VALUES (?0, now())",
		"INSERT INTO heartbeats (id, org_id, token_hash, secret) VALUES (?1, ?0, sha256(?1::text::bytea), '{}')",
		"INSERT INTO ping_keys (id, org_id, key_hash, secret, prefix) VALUES (?0, ?0, sha256(?0::text::bytea), '{}', 'vgp_')",
		"INSERT INTO locations (id, org_id, key, name, token_hash, token_prefix) " +
			"VALUES (?0, ?0, 'loc-office', 'Office', sha256(?0::text::bytea), 'vga_')",
		"INSERT INTO agents (id, location_id, instance, name, version, public_key, types) " +
			"VALUES (gen_random_uuid(), ?0, gen_random_uuid(), 'office-1', '1.0.0', '', '{http}')",
		"INSERT INTO agent_tasks (id, location_id, check_id, revision, once, deadline) VALUES (gen_random_uuid(), ?0, ?1, 1, false, now())",
		"INSERT INTO agent_results (check_id, region, slot, time, revision, observation) VALUES (?1, 'loc-office', now(), now(), 1, '{}')",
		"INSERT INTO late_spans (check_id, region, from_slot, to_slot) VALUES (?1, 'loc-office', now(), now())",
		"INSERT INTO late_incidents (check_id, rule_id, rule_name, started_at, regions) VALUES (?1, ?0, 'Down', now(), '{loc-office}')",
		"INSERT INTO pings (check_id, kind) VALUES (?1, 'success')",
		"INSERT INTO idempotency_keys (org_id, key, fingerprint, token, started_at) VALUES (?0, 'k', '', gen_random_uuid(), now())",
		"INSERT INTO mail_recipients (org_id, address, unsubscribe_token) VALUES (?0, 'ada@example.com', gen_random_uuid()::text)",
		"INSERT INTO mail_quotas (name, started_at, used) VALUES ('alerts/organization/' || ?0, now(), 1)",
		"INSERT INTO mail_quotas (name, started_at, used) VALUES ('alerts/recipient/' || ?0 || '/ada@example.com', now(), 1)",
		"INSERT INTO mail_quotas (name, started_at, used) VALUES ('notices/user/' || ?3, now(), 1)",
		"INSERT INTO account_tokens (hash, purpose, user_id, email, created_at, expires_at) " +
			"VALUES (sha256(?3::text::bytea), 'verify', ?3, 'ada@example.com', now(), now())",
		"INSERT INTO login_links (hash, user_id, expires_at) VALUES (sha256(?3::text::bytea), ?3, now())",
		"INSERT INTO sessions (token, id, user_id, data, address, user_agent, created_at, seen_at, expires_at) " +
			"VALUES (?3::text, gen_random_uuid(), ?3, '', '', '', now(), now(), now())",
		"INSERT INTO signups (user_id, network, created_at) VALUES (?3, '192.0.2.0/24', now())",
		"INSERT INTO incident_texts (id, incident_id, author, created_at) VALUES (gen_random_uuid(), ?2, 'Ada', now())",
		"INSERT INTO status_page_checks (page_id, check_id, in_group, place, name) SELECT id, ?1, 0, 0, '' FROM status_pages WHERE org_id = ?0",
		"INSERT INTO status_page_logos (page_id, media_type, image) SELECT id, 'image/png', '' FROM status_pages WHERE org_id = ?0",
		"INSERT INTO status_page_readers (id, org_id, page_id, type, address, digest, created_at, asked_at, confirmed_at) " +
			"SELECT ?0, ?0, id, 'email', 'ada@example.com', '', now(), now(), now() FROM status_pages WHERE org_id = ?0",
		"INSERT INTO status_page_notes (id, page_id, key, kind, title, body, at, created_at) " +
			"SELECT ?0, id, 'k', 'incident.begins', '', '', now(), now() FROM status_pages WHERE org_id = ?0",
		"INSERT INTO status_page_messages (note_id, reader_id, at, next_attempt_at) VALUES (?0, ?0, now(), now())",
		"INSERT INTO result_reclassifications (check_id, region, from_at, to_at, due_at) VALUES (?1, 'na-east-ewr', now(), now(), now())",
		"INSERT INTO delivery_addresses (id, delivery_id, channel_id, type, config, created_at) " +
			"SELECT gen_random_uuid(), id, channel_id, 'webhook', '{}', now() FROM deliveries WHERE org_id = ?0 LIMIT 1",
		"INSERT INTO delivery_recipients (delivery_id, address, spelling, status) " +
			"SELECT id, 'ada@example.com', 'ada@example.com', 'delivered' FROM deliveries WHERE org_id = ?0 LIMIT 1",
		"INSERT INTO delivery_places (incident_id, channel_id, org_id, queued_at) VALUES (gen_random_uuid(), gen_random_uuid(), ?0, now())",
		"INSERT INTO channel_notices (channel_id, org_id, channel_name, since) VALUES (gen_random_uuid(), ?0, 'On call', now())",
		"INSERT INTO maintenance_holds (check_id, org_id, held_at, until_at, swept_at) VALUES (?1, ?0, now(), now(), now())",
		"INSERT INTO incident_updates (id, org_id, incident_id, state, text, author, created_at) " +
			"VALUES (gen_random_uuid(), ?0, ?2, 'monitoring', '', '', now())",
		"INSERT INTO drills VALUES (gen_random_uuid(), ?0, 'asked', '{}', '[]', '{}', '{}', '[]', DEFAULT, '', '[]', " +
			"now(), NULL, NULL, NULL, NULL, now())",
		"INSERT INTO report_schedules (id, org_id, name, channel_ids, labels, target, every, day, hour, timezone, enabled, created_at, " +
			"updated_at) VALUES (gen_random_uuid(), ?0, 'Monthly', '{}', '{}', 99.9, 'monthly', 1, 9, 'UTC', true, now(), now())",
		"INSERT INTO drill_schedules (id, org_id, name, request, every, day, hour, timezone, enabled, created_at, updated_at) " +
			"VALUES (gen_random_uuid(), ?0, 'Monthly', '{}', 'monthly', 1, 9, 'UTC', false, now(), now())",
		"INSERT INTO channel_drills (channel_id, org_id, drill_id, verdict, at) SELECT d.channel_id, ?0, dr.id, 'passed', now() " +
			"FROM deliveries AS d JOIN drills AS dr ON dr.org_id = d.org_id WHERE d.org_id = ?0 LIMIT 1",
		"INSERT INTO blind_regions (id, region, since, ended_at) " + // of the platform, so that both organizations share it
			"VALUES ('5d3e7a9c-816c-4d8f-8d95-13dd8822b889', 'na-east-ewr', now(), now()) ON CONFLICT DO NOTHING",
		"INSERT INTO blind_organizations (blind_id, org_id) SELECT id, ?0 FROM blind_regions LIMIT 1",
		"INSERT INTO recoveries (id, org_id, channel_id, state, since, until, statuses, event_types, total, started_at, " +
			"finished_at, stepped_at) " +
			"SELECT gen_random_uuid(), ?0, channel_id, 'done', now(), now(), '[]', '[]', 1, now(), now(), now() " +
			"FROM deliveries WHERE org_id = ?0 LIMIT 1",
		"INSERT INTO recovery_items (recovery_id, position, delivery_id, incident_id, state) " +
			"SELECT id, 1, gen_random_uuid(), ?2, 'sent' FROM recoveries WHERE org_id = ?0",
		"INSERT INTO unobserved_checks (check_id, id, org_id, since, regions, described, created_at) " +
			"VALUES (?1, gen_random_uuid(), ?0, now(), '{}', '{}', now())",
		"INSERT INTO unobserved_channels (check_id, channel_id, id, org_id, since, regions, partly, described, recipient, created_at) " +
			"VALUES (?1, gen_random_uuid(), gen_random_uuid(), ?0, now(), '{}', false, '{}', '{}', now())",
	} {
		execute(t, s, statement, f.org.ID, f.check.ID, f.incident, f.owner.ID)
	}
	return f
}
