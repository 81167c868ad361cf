DELETE FROM incidents AS x WHERE NOT EXISTS (SELECT FROM checks AS c WHERE c.id = x.check_id);
DELETE FROM region_edges AS x WHERE NOT EXISTS (SELECT FROM checks AS c WHERE c.id = x.check_id);
DELETE FROM result_gaps AS x WHERE NOT EXISTS (SELECT FROM checks AS c WHERE c.id = x.check_id);
DELETE FROM result_rollups AS x WHERE NOT EXISTS (SELECT FROM checks AS c WHERE c.id = x.check_id);
ALTER TABLE incidents DROP CONSTRAINT IF EXISTS incidents_check_id_fkey,
    ADD CONSTRAINT incidents_check_id_fkey FOREIGN KEY (check_id) REFERENCES checks ON DELETE CASCADE;
ALTER TABLE region_edges DROP CONSTRAINT IF EXISTS region_edges_check_id_fkey,
    ADD CONSTRAINT region_edges_check_id_fkey FOREIGN KEY (check_id) REFERENCES checks ON DELETE CASCADE;
ALTER TABLE result_gaps DROP CONSTRAINT IF EXISTS result_gaps_check_id_fkey,
    ADD CONSTRAINT result_gaps_check_id_fkey FOREIGN KEY (check_id) REFERENCES checks ON DELETE CASCADE;
ALTER TABLE result_rollups DROP CONSTRAINT IF EXISTS result_rollups_check_id_fkey,
    ADD CONSTRAINT result_rollups_check_id_fkey FOREIGN KEY (check_id) REFERENCES checks ON DELETE CASCADE;
