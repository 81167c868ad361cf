// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/vigil-monitor/vigil/internal/account"
)

// TestTextsThatPostgresRefuses puts what Postgres cannot store into every parameter of every
// operation: the answer is the one of a resource that does not exist, or names the parameter.
func TestTextsThatPostgresRefuses(t *testing.T) {
	t.Parallel()
	doc := document(t)
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	parameter, count := regexp.MustCompile(`{\w+}`), 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for _, text := range []string{"%00", "a%00b", "%ff", "%ed%a0%80"} {
				if parameter.MatchString(path) {
					count++
					at := parameter.ReplaceAllString(path, text)
					if r := a.do(t, method, at, nil); r.status != http.StatusNotFound {
						t.Errorf("%s %s: status %d: %.200s", method, at, r.status, r.raw)
					}
				}
				at := parameter.ReplaceAllString(path, a.org.String())
				for _, one := range append(item.Parameters, op.Parameters...) {
					if one.Value.In != openapi3.ParameterInQuery {
						continue
					}
					count++
					r := a.do(t, method, at+"?"+one.Value.Name+"="+text, nil)
					if r.status != http.StatusBadRequest || r.detail("member") != one.Value.Name {
						t.Errorf("%s %s?%s=%s: status %d: %.200s", method, at, one.Value.Name, text, r.status, r.raw)
					}
				}
			}
		}
	}
	if count < 200 {
		t.Errorf("%d requests", count)
	}
	if log := b.log.String(); strings.Contains(log, `"level":"ERROR"`) || strings.Contains(log, `"level":"WARN"`) {
		t.Errorf("the log has faults: %.500s", log)
	}
}
