// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"time"

	"github.com/vigil-monitor/vigil"
)

// parseCron reads a cron expression as vigil.ParseCron does.
func parseCron(text string) (recurrence, error) {
	cron, err := vigil.ParseCron(text)
	if err != nil {
		return recurrence{}, err
	}
	rule := recurrence{interval: 1, times: cron.Times, days: cron.Days, months: cron.Months, either: cron.Either}
	for weekday := range 7 {
		if cron.Weekdays&(1<<weekday) != 0 {
			rule.weekdays = append(rule.weekdays, ordinalDay{weekday: time.Weekday(weekday)})
		}
	}
	return rule, nil
}
