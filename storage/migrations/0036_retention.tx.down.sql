DROP INDEX IF EXISTS audit_log_at_idx;
DROP INDEX IF EXISTS incidents_resolved_idx;
