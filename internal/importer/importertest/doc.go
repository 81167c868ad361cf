// SPDX-License-Identifier: Apache-2.0

// Package importertest makes the files of other monitoring programs that tests import, so that no
// binary file is kept in the repository.
//
// KumaDatabase writes a database of Uptime Kuma: the schema is that of one of KumaVersions, which
// are the released ones whose tables differ, and the rows are those of the test, without what that
// version does not have. So one test holds for all of them. The schemas are what the versions' own
// migrations made, run once with Node.js. OpenDatabase opens such a file until the end of the test.
package importertest
