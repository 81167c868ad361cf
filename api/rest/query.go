// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// queryProblem returns what is wrong with the query of a request: a parameter that the
// operation does not have, or one of its own in a form that Huma would ignore. An ignored
// parameter answers another question than the one that was asked, such as the uptime of
// another month.
func queryProblem(op *huma.Operation, raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return errEncoding()
	}
	known := queryParameters(op)
	if err := unknownParameters(known, query); err != nil && strings.HasPrefix(op.Path, versionPrefix) {
		return err
	}
	for _, param := range known {
		values := query[param.Name]
		if repeated := param.Explode != nil && *param.Explode; len(values) > 1 && !repeated {
			return vigil.Invalid(param.Name, "is given more than once")
		}
		for _, value := range values {
			switch {
			case value == "":
				return vigil.Invalid(param.Name, "has no value")
			case strings.ContainsRune(value, 0) || !utf8.ValidString(value):
				return vigil.Invalid(param.Name, "holds a character that is not allowed")
			}
		}
	}
	return nil
}

// WithoutParameters wraps what is no operation and has no query parameters: it refuses all, as an
// operation refuses those that it does not have. The request must have passed Observe.
func WithoutParameters(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			err = errEncoding()
		} else {
			err = unknownParameters(nil, query)
		}
		if err != nil {
			WriteError(r.Context(), w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func errEncoding() error { return vigil.Invalid("query", "is not properly encoded") }

// versionPrefix begins the paths whose operations refuse unknown parameters. The others, such as
// /health, have none, and what asks them may add its own: a load balancer that gets a 400 would
// take a healthy process out of service.
const versionPrefix = "/v1/"

func queryParameters(op *huma.Operation) []*huma.Param {
	return slices.DeleteFunc(slices.Clone(op.Parameters), func(p *huma.Param) bool { return p.In != "query" })
}

// unknownParameters returns an error that names the parameters that the operation does not
// have, and those that it has. Names are compared with their case, as those of members are.
func unknownParameters(known []*huma.Param, query url.Values) error {
	names := make([]string, len(known))
	for i, param := range known {
		names[i] = param.Name
	}
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(query)), func(name string) bool { return slices.Contains(names, name) })
	if len(unknown) == 0 {
		return nil
	}
	unknown = unknown[:min(len(unknown), maxProblems)]
	problems := make([]problem, len(unknown))
	for i, name := range unknown {
		problems[i] = problem{Member: shownParameter(name), Message: notParameter + project.Meant(name, names)}
	}
	others := ""
	for _, other := range problems[1:] {
		others += ", nor is " + other.Member
	}
	has := "; it has none"
	if len(names) > 0 {
		has = "; it has " + strings.Join(names, ", ")
	}
	refused := vigil.Invalid(problems[0].Member, "%s", notParameter+others+has+project.Meant(unknown[0], names))
	refused.Details["known"] = names
	if len(problems) > 1 {
		refused.Details["problems"] = problems
	}
	return refused
}

const notParameter = "is not a query parameter of this request"

// shownParameter returns the name of a parameter as an error may repeat it.
func shownParameter(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	return vigil.MemberPath(cmp.Or(name, "query"))
}
