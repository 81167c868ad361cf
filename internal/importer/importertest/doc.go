// SPDX-License-Identifier: Apache-2.0

// Package importertest makes the files of other monitoring programs that tests import.
package importertest
