DROP TABLE IF EXISTS worker_leases;
