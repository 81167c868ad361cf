// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer/importertest"
)

// TestKumaMaintenance imports on Sunday, 22 November 2026, 21:00 UTC.
func TestKumaMaintenance(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for name, test := range map[string]struct {
		row  object
		want string // empty: there is no window
		lost string
	}{
		"Single": {
			object{"strategy": "single", "start_date": "2026-12-01 22:00:00", "end_date": "2026-12-02 00:30:00", "timezone": "Europe/Berlin"},
			`{"duration":"150m","name":"W","scope":{"checks":["it"]},"starts_at":"2026-12-01T22:00","timezone":"Europe/Berlin"}`, "",
		},
		"SingleAcrossAChangeOfTheClock": {
			object{"strategy": "single", "start_date": "2027-03-28T01:00", "end_date": "2027-03-28T04:00", "timezone": "Europe/Berlin"},
			`{"duration":"2h","name":"W","scope":{"checks":["it"]},"starts_at":"2027-03-28T01:00","timezone":"Europe/Berlin"}`, "",
		},
		"SingleThatEnded": {
			object{"strategy": "single", "start_date": "2026-11-01 22:00:00", "end_date": "2026-11-02 00:30:00", "timezone": "UTC"},
			"",
			"it has ended on 2026-11-02",
		},
		"LongSingle": {
			object{"strategy": "single", "start_date": "2026-12-01 00:00:00", "end_date": "2027-01-01 00:00:00", "timezone": "UTC", "active": 0},
			`{"duration":"336h","enabled":false,"name":"W","scope":{"checks":["it"]},"starts_at":"2026-12-01T00:00","timezone":"UTC"}`,
			"an occurrence lasts at most 14 days",
		},
		"LongSingleThatRuns": {
			object{"strategy": "single", "start_date": "2026-01-01 00:00:00", "end_date": "2026-11-30 00:00:00", "timezone": "UTC"},
			`{"duration":"171h","name":"W","scope":{"checks":["it"]},"starts_at":"2026-11-22T21:00","timezone":"UTC"}`, "it runs already",
		},
		"Weekdays": {
			object{"strategy": "recurring-weekday", "start_time": "23:00", "end_time": "01:00", "weekdays": "[1,0]", "timezone": "America/New_York"},
			`{"duration":"2h","name":"W","rrule":"FREQ=WEEKLY;BYDAY=MO,SU","scope":{"checks":["it"]},` +
				`"starts_at":"2026-11-22T23:00","timezone":"America/New_York"}`,
			"",
		},
		"WeekdaysUntil": {
			object{
				"strategy": "recurring-weekday", "start_date": "2026-12-01 00:00:00", "end_date": "2027-12-31 23:59:00", "start_time": "10:00:00",
				"end_time": "11:00:00", "weekdays": "[5]", "timezone": "UTC",
			},
			`{"duration":"1h","name":"W","rrule":"FREQ=WEEKLY;BYDAY=FR","scope":{"checks":["it"]},` +
				`"starts_at":"2026-12-04T10:00","timezone":"UTC","until":"2027-12-31T23:59"}`,
			"",
		},
		"WeekdaysThatEnded": {
			object{
				"strategy": "recurring-weekday", "end_date": "2025-12-31 23:59:00", "start_time": "10:00", "end_time": "11:00", "weekdays": "[5]",
				"timezone": "UTC",
			}, "", "it has ended on 2025-12-31",
		},
		"NoWeekday": {
			object{"strategy": "recurring-weekday", "start_time": "10:00", "end_time": "11:00", "weekdays": "[]", "timezone": "UTC"},
			"",
			"it has no day",
		},
		"DaysOfMonth": {
			object{
				"strategy": "recurring-day-of-month", "start_time": "10:00", "end_time": "11:00", "days_of_month": `[1,15,"lastDay1","lastDay2"]`,
				"timezone": "UTC",
			},
			`{"duration":"1h","name":"W","rrule":"FREQ=MONTHLY;BYMONTHDAY=1,15,-1","scope":{"checks":["it"]},` +
				`"starts_at":"2026-11-22T10:00","timezone":"UTC"}`,
			"daysOfMonth lastDay2",
		},
		"Interval": {
			object{
				"strategy": "recurring-interval", "start_date": "2026-11-01 00:00:00", "start_time": "02:00", "end_time": "03:00", "interval_day": 4,
				"timezone": "UTC",
			},
			`{"duration":"1h","name":"W","rrule":"FREQ=DAILY;INTERVAL=4","scope":{"checks":["it"]},` +
				`"starts_at":"2026-11-25T02:00","timezone":"UTC"}`, "",
		},
		"IntervalFromTheLatestStart": {
			object{
				"strategy": "recurring-interval", "start_date": "2026-11-01 00:00:00", "last_start_date": "2026-11-20 02:00:00",
				"start_time": "02:00", "end_time": "03:00", "interval_day": 4, "timezone": "UTC",
			},
			`{"duration":"1h","name":"W","rrule":"FREQ=DAILY;INTERVAL=4","scope":{"checks":["it"]},` +
				`"starts_at":"2026-11-24T02:00","timezone":"UTC"}`, "",
		},
		"Cron": {
			object{"strategy": "cron", "cron": "30 3 * * *", "duration": 3600, "timezone": "UTC"},
			`{"cron":"30 3 * * *","duration":"1h","name":"W","scope":{"checks":["it"]},"starts_at":"2026-11-22T00:00","timezone":"UTC"}`, "",
		},
		"CronWithSeconds": {
			object{"strategy": "cron", "cron": "0 30 3 ? * 1", "duration": 3600, "timezone": "UTC"},
			`{"cron":"30 3 * * 1","duration":"1h","name":"W","scope":{"checks":["it"]},"starts_at":"2026-11-22T00:00","timezone":"UTC"}`, "",
		},
		"OtherCron": {object{"strategy": "cron", "cron": "0 3 L * *", "duration": 3600, "timezone": "UTC"}, "", "strategy cron"},
		"Manual":    {object{"strategy": "manual"}, "", "strategy manual"},
		"UnknownTimezone": {
			object{"strategy": "cron", "cron": "0 3 * * *", "duration": 60, "timezone": "Mars/Base"},
			"",
			"timezone \"Mars/Base\" is not known",
		},
		"TimezoneOfTheServer": {
			object{"strategy": "cron", "cron": "30 3 * * *", "duration": 3600, "timezone": "SAME_AS_SERVER"},
			`{"cron":"30 3 * * *","duration":"1h","name":"W","scope":{"checks":["it"]},"starts_at":"2026-11-22T00:00","timezone":"UTC"}`,
			"the time zone of the server is not known",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := map[string]any{"id": 1, "title": "W", "description": ""}
			for column, value := range test.row {
				row[column] = value
			}
			got := kuma(t, importertest.KumaDatabase(t, "2.5.3", importertest.Rows{
				"monitor": {
					{"id": 1, "name": "It", "type": "http", "url": "https://shop.example/", "timeout": 10, "expiry_notification": 0},
				},
				"maintenance":         {row},
				"monitor_maintenance": {{"monitor_id": 1, "maintenance_id": 1}},
			}))
			mentioned(t, got)
			if test.want == "" {
				test.want = "null"
			}
			if window := at(t, got.document, "maintenance", "w"); window != test.want {
				t.Errorf("the window is %s, expected %s", window, test.want)
			}
			if !strings.Contains(got.report, test.lost) {
				t.Errorf("IMPORT.md does not name %q:\n%s", test.lost, got.report)
			}
		})
	}
}
