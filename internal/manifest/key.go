// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"
)

// Keys makes keys of names, each once. The zero value has none.
type Keys struct {
	taken map[string]bool
	last  map[string]int // number behind a key, which the next one of the same name exceeds
}

// Take notes a key that is used already.
func (k *Keys) Take(key string) {
	if k.taken == nil {
		k.taken, k.last = map[string]bool{}, map[string]int{}
	}
	k.taken[key] = true
}

// maxKey is the longest key that is made of a name.
const maxKey = 50

// Free makes a key of a name and takes it: home-page of "Home page", home-page-2 when that is
// taken. It has at most 50 bytes of the name, so that a number fits behind them, after the
// prefix; a name without a letter or digit gets the kind. The time does not grow with how many
// things have the same name.
func (k *Keys) Free(prefix, name, kind string) string {
	key := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return ' '
	}, name)
	key = strings.Join(strings.Fields(key), "-")
	if key == "" {
		key = strings.ReplaceAll(kind, "_", "-")
	}
	key = prefix + strings.TrimRight(key[:min(len(key), maxKey)], "-")
	free := key
	for n := max(k.last[key], 1); k.taken[free]; {
		n++
		free = fmt.Sprintf("%s-%d", key, n)
		k.last[key] = n
	}
	k.Take(free)
	return free
}
