// SPDX-License-Identifier: Apache-2.0

// Package fleet is what the processes of the platform say of themselves in Postgres, so that others
// notice when one dies or a store was restored.
//
// A region worker renews one Lease for all of its loops; when it expires, another worker adopts the
// loops (Adoption, Grant). Control processes share the sweep by SweepShards, each with a SweepLease
// whose fence grows when the shard changes hands. Load is how well a worker keeps up. An Epoch
// counts in Postgres and in Temporal: where the two differ, one of them was restored from a backup
// (RestoreSign), and the sweep compares every loop.
//
// These are types and pure decisions. storage/loops keeps the rows, workers renews the leases of
// workers, and reconcile those of shards, which it acts under. The lengths of leases stand here,
// since those who hold one and those who wait for its end must mean the same.
package fleet
