-- For the retention of incidents and of the audit log.
CREATE INDEX IF NOT EXISTS incidents_resolved_idx ON incidents (resolved_at) WHERE status = 'resolved' AND NOT latched;
CREATE INDEX IF NOT EXISTS audit_log_at_idx ON audit_log (at);
