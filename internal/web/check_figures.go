// SPDX-License-Identifier: Apache-2.0

package web

func checkFigures(d *checkData) []figure {
	share := func(label, period string) figure {
		up := d.uptimes[period]
		f := figure{Label: label, Value: "–"}
		if up.TotalChecks > 0 {
			f.Value, f.Unit = percent(up.UptimePercentage), "%"
		}
		return f
	}
	today := d.uptimes["24h"]
	ms := func(label string, value float64) figure {
		f := figure{Label: label, Value: "–"}
		if today.SuccessfulChecks > 0 {
			f.Value, f.Unit = millis(value), "ms"
		}
		return f
	}
	coverage := figure{Label: "Coverage", Value: "–"}
	if today.ExpectedChecks > 0 {
		coverage.Value, coverage.Unit = percent(today.CoveragePercentage), "%"
	}
	return []figure{
		share("Uptime, 24 h", "24h"), share("7 days", "7d"), share("30 days", "30d"), share("90 days", "90d"),
		ms("p50, 24 h", today.P50ResponseTimeMs), ms("p95", today.P95ResponseTimeMs), ms("p99", today.P99ResponseTimeMs), coverage,
	}
}
