package activities

import "time"

// CountNews counts so many turns with news that they are a burst.
func (w *Watcher) CountNews(now time.Time) {
	for range burstSize {
		w.news.add(now)
	}
}
