// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"math"
	"regexp"
	"testing"
	"time"
)

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// shape maps each field to the type that the contract's table gives. A question mark after
// the type means nullable.
type shape map[string]string

// has fails the test unless an object has the fields and types of a shape.
func has(t *testing.T, what string, got object, want shape) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is not there", what)
		return
	}
	for field, kind := range want {
		value, there := got[field]
		if !there {
			t.Errorf("%s.%s is not there: %v", what, field, got)
			continue
		}
		if problem := mismatch(value, kind); problem != "" {
			t.Errorf("%s.%s %s: %v", what, field, problem, value)
		}
	}
}

func mismatch(value any, kind string) string {
	if last := len(kind) - 1; kind[last] == '?' {
		if value == nil {
			return ""
		}
		kind = kind[:last]
	}
	ok := false
	switch kind {
	case "string":
		_, ok = value.(string)
	case "uuid":
		ok = uuidForm.MatchString(text(value))
	case "date-time":
		_, err := time.Parse(time.RFC3339, text(value))
		ok = err == nil
	case "boolean":
		_, ok = value.(bool)
	case "number":
		_, ok = value.(float64)
	case "integer":
		n, number := value.(float64)
		ok = number && n == math.Trunc(n)
	case "object":
		_, ok = value.(object)
	case "strings":
		items, list := value.([]any)
		ok = list
		for _, item := range items {
			if _, is := item.(string); !is {
				ok = false
			}
		}
	default:
		return fmt.Sprintf("has a kind that the test does not know: %s", kind)
	}
	if !ok {
		return "is no " + kind
	}
	return ""
}

// The resources of section 2.

func userShape() shape {
	return shape{
		"id": "uuid", "email": "string", "name": "string", "created_at": "date-time", "updated_at": "date-time",
		"email_verified": "boolean",
	}
}

func organizationShape() shape {
	return shape{"id": "uuid", "name": "string", "slug": "string", "created_at": "date-time", "updated_at": "date-time", "tier": "string"}
}

func checkShape() shape {
	return shape{
		"id": "uuid", "org_id": "uuid", "name": "string", "type": "string", "config": "object",
		"interval_seconds": "integer", "regions": "strings",
		"enabled": "boolean", "simultaneous_regions": "boolean", "health_status": "string", "last_checked": "date-time?",
		"created_at": "date-time", "updated_at": "date-time", "expires_at": "date-time?",
	}
}

func resultShape() shape {
	return shape{
		"id": "uuid", "check_id": "uuid", "region": "string", "success": "boolean", "response_time_ms": "integer", "status_code": "integer?",
		"error_message": "string?", "metadata": "object?", "time": "date-time",
	}
}

func uptimeShape() shape {
	return shape{
		"uptime_percentage": "number", "total_checks": "integer", "successful_checks": "integer", "failed_checks": "integer",
		"avg_response_time_ms": "number", "period": "string",
		"expected_checks": "integer", "missed_checks": "integer", "coverage_percentage": "number",
		"p50_response_time_ms": "number", "p95_response_time_ms": "number", "p99_response_time_ms": "number", "by_region": "object",
	}
}

func ruleShape() shape {
	return shape{
		"id": "uuid", "check_id": "uuid", "name": "string", "condition_type": "string?", "threshold": "number?", "condition": "object",
		"notification_channel_ids": "strings", "notify_on": "string", "enabled": "boolean", "created_at": "date-time", "updated_at": "date-time",
	}
}

func channelShape() shape {
	return shape{
		"id": "uuid", "org_id": "uuid", "name": "string", "type": "string", "config": "object", "enabled": "boolean",
		"created_at": "date-time", "updated_at": "date-time",
	}
}

func incidentShape() shape {
	return shape{
		"id": "uuid", "check_id": "uuid", "alert_rule_id": "uuid", "status": "string", "severity": "string",
		"title": "string", "description": "string",
		"started_at": "date-time", "acknowledged_at": "date-time?", "resolved_at": "date-time?", "created_at": "date-time",
		"acknowledged_by": "string?", "resolved_by": "string?", "resolution": "string?", "note": "string?", "workflow_id": "string",
		"regions": "strings", "trigger": "object",
	}
}

func regionShape() shape {
	return shape{
		"key": "string", "name": "string", "city": "string", "country": "string", "country_code": "string", "continent": "string",
		"airport_code": "string", "latitude": "number", "longitude": "number", "primary": "boolean",
		"tiers": "strings", "status": "string", "aliases": "strings",
	}
}
