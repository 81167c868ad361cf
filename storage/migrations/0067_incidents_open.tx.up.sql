-- Lists of checks by state and the dashboard ask for the open incidents of an organization.
CREATE INDEX IF NOT EXISTS incidents_org_open_idx ON incidents (org_id, check_id) WHERE status <> 'resolved';
