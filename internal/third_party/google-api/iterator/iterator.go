// SPDX-License-Identifier: Apache-2.0

// Package iterator stands in for that of Google's API client, see internal/third_party/README.md.
package iterator

import "errors"

// Done ends an iteration.
var Done = errors.New("no more items in iterator")
