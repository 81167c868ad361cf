DROP INDEX IF EXISTS incidents_org_open_idx;
