// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil"
)

// CountNews counts so many turns with news that they are a burst.
func (w *Watcher) CountNews(now time.Time) {
	for range newsBurst {
		w.news.Add(now)
	}
}

// Rebuild returns the state that a loop without one begins with.
func Rebuild(ctx context.Context, history resultHistory, def vigil.Definition, region string) (vigil.State, error) {
	t := &turnRun{Watcher: &Watcher{WatcherOptions: WatcherOptions{History: history}}, turn: &Turn{CheckID: def.Check.ID, Region: region}}
	err := t.rebuild(ctx, &entry{Definition: def})
	return t.state, err
}

// Fold returns the state after a result of a loop that kept it.
func Fold(def vigil.Definition, region string, state vigil.State, row vigil.Result) vigil.State {
	t := &turnRun{turn: &Turn{CheckID: def.Check.ID, Region: region}, state: state}
	t.fold(&entry{Definition: def}, row)
	return t.state
}
