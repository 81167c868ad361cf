// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// secretText is in everything of a config that must not be shown.
const secretText = "s3cr3t-" + `"q<u>o&t/e"`

// pathToken is a secret where only plain characters can be.
const pathToken = "s3cr3t-path-token"

// fixture is what the suites need to know about a type.
type fixture struct {
	kind vigil.ChannelType
	// format is that of the config; empty for what a config has that names none.
	format string
	// address is the member that holds the receiver's address; empty for a type
	// that does not speak HTTP.
	address string
	// required is the member that an empty config lacks.
	required string
	// config makes a config of a receiver at a base address, with a secret
	// wherever one can be.
	config func(base string) map[string]any
}

// fixtures has one of each type: the type's own test adds it.
var fixtures []fixture //nolint:gochecknoglobals // written before the tests, read afterwards

// addFixture is called as: var _ = addFixture(fixture{...}).
func addFixture(f fixture) bool {
	fixtures = append(fixtures, f)
	return true
}

// form is a type of channels, with a format behind a slash where its config names one.
type form string

func (f fixture) form() form { return form(strings.TrimSuffix(string(f.kind)+"/"+f.format, "/")) }

func (f form) kind() vigil.ChannelType {
	kind, _, _ := strings.Cut(string(f), "/")
	return vigil.ChannelType(kind)
}

// httpConfigs are configs of the forms that speak HTTP, at a base address.
func httpConfigs(base string) map[form]map[string]any {
	found := make(map[form]map[string]any)
	for _, f := range fixtures {
		if f.address != "" {
			found[f.form()] = f.given(base)
		}
	}
	return found
}

// given is a config in the format of the fixture.
func (f fixture) given(base string) map[string]any {
	config := f.config(base)
	if f.format != "" {
		config["format"] = f.format
	}
	return config
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	r := registry()

	t.Run("HoldsTheTypesOfTheSpec", func(t *testing.T) {
		t.Parallel()
		got := r.Types()
		for _, want := range []vigil.ChannelType{
			vigil.ChannelChat, vigil.ChannelEmail, vigil.ChannelPager, vigil.ChannelPush, vigil.ChannelWebhook,
		} {
			if !slices.Contains(got, want) {
				t.Errorf("no %s among %q", want, got)
			}
		}
		if !slices.IsSorted(got) {
			t.Errorf("not sorted: %q", got)
		}
	})

	t.Run("EveryTypeHasAValidPolicy", func(t *testing.T) {
		t.Parallel()
		policies := r.Policies()
		for _, kind := range r.Types() {
			if policy, ok := policies[kind]; !ok || !policy.Valid() {
				t.Errorf("%s: policy %+v", kind, policy)
			}
		}
		if !maps.Equal(notify.Policies(), policies) {
			t.Errorf("got %+v without a registry", notify.Policies())
		}
	})

	t.Run("PoliciesOfTheSpec", func(t *testing.T) {
		t.Parallel()
		for kind, want := range map[vigil.ChannelType]notify.Policy{
			vigil.ChannelEmail:   {MaxAttempts: 12, LateOpening: vigil.LateOpeningMerge, RecoveryAfterFailure: true},
			vigil.ChannelWebhook: {MaxAttempts: 12, LateOpening: vigil.LateOpeningDeliver, RecoveryAfterFailure: true},
			vigil.ChannelPush: {
				MaxAttempts: 6, LateOpening: vigil.LateOpeningMerge, RecoveryAfterFailure: true, Address: "format topic server user_key device",
			},
			vigil.ChannelChat:  {MaxAttempts: 6, LateOpening: vigil.LateOpeningMerge, RecoveryAfterFailure: true},
			vigil.ChannelPager: {MaxAttempts: 6, LateOpening: vigil.LateOpeningDrop, Address: "format routing_key url"},
		} {
			if got := r.Policies()[kind]; got != want {
				t.Errorf("%s: got %+v, want %+v", kind, got, want)
			}
		}
	})

	t.Run("HasAFixtureOfEveryTypeAndFormat", func(t *testing.T) {
		t.Parallel()
		var known, want []form
		for _, f := range fixtures {
			known = append(known, f.form())
		}
		for _, kind := range r.Types() {
			want = append(want, form(kind))
			if member, ok := reflect.TypeOf(r.Config(kind)).FieldByName("Format"); ok {
				for format := range strings.SplitSeq(member.Tag.Get("enum"), ",") {
					want = append(want, form(string(kind)+"/"+format))
				}
			}
		}
		slices.Sort(known)
		slices.Sort(want)
		if !slices.Equal(known, want) {
			t.Errorf("fixtures of %q, types and formats %q: the test of each adds one", known, want)
		}
	})
}

func TestRegistryParses(t *testing.T) {
	t.Parallel()
	r := registry()

	t.Run("NamesThemForAnUnknownOne", func(t *testing.T) {
		t.Parallel()
		_, err := r.Parse("carrier-pigeon", json.RawMessage(`{}`))
		for _, kind := range r.Types() {
			if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.Contains(vigil.ErrorMessage(err), string(kind)) {
				t.Errorf("%s: got %v", kind, err)
			}
		}
	})

	t.Run("EveryTypeRefusesTheSameMistakes", func(t *testing.T) {
		t.Parallel()
		for _, f := range fixtures {
			kind, config := f.kind, f.given("http://hooks.example.com")
			with := func(name string, value any) json.RawMessage {
				changed := maps.Clone(config)
				changed[name] = value
				return encode(t, changed)
			}
			for want, raw := range map[string]json.RawMessage{
				"":                          encode(t, config),
				"config: is required":       nil,
				"config: must be an object": json.RawMessage(`["` + pathToken + `"]`),
				"config: is not valid JSON": json.RawMessage(`{"` + pathToken),
				"config.colour: is not a member here; the known ones are ": with("colour", pathToken),
				"config.title_template: must be a string":                  with("title_template", []string{pathToken}),
				"config.title_template: has {{nope}}":                      with("title_template", "{{nope}} "+pathToken),
				"config.body_template: has a {{ that no }} follows":        with("body_template", "{{severity "+pathToken),
				"config.body_template: must have at most 10000 characters": with("body_template", strings.Repeat("x", 10001)),
			} {
				_, err := r.Parse(kind, raw)
				if want == "" {
					if err != nil {
						t.Errorf("%s: %v", kind, err)
					}
					continue
				}
				if text := vigil.ErrorMessage(err); vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(text, want) ||
					strings.Contains(text, pathToken) {
					t.Errorf("%s: got %v instead of %s", kind, err, want)
				}
			}
		}
	})

	t.Run("EveryMemberIsDocumented", func(t *testing.T) {
		t.Parallel()
		for _, kind := range r.Types() {
			for _, field := range reflect.VisibleFields(reflect.TypeOf(r.Config(kind))) {
				if !field.Anonymous && (field.Tag.Get("doc") == "" || field.Tag.Get("json") == "") {
					t.Errorf("%s: %s is not documented", kind, field.Name)
				}
			}
		}
	})

	t.Run("EveryTypeWithoutItsReceiverNamesWhatIsRequired", func(t *testing.T) {
		t.Parallel()
		for _, f := range fixtures {
			given := map[string]any{}
			if f.format != "" {
				given["format"] = f.format
			}
			_, err := r.Parse(f.kind, encode(t, given))
			if !strings.HasPrefix(vigil.ErrorMessage(err), f.required+": is required") {
				t.Errorf("%s: got %v", f.form(), err)
			}
		}
	})
}

// TestConformance holds for every type that speaks HTTP.
func TestConformance(t *testing.T) {
	t.Parallel()
	for kind := range httpConfigs("") {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			send := func(t *testing.T, handler http.HandlerFunc, opts ...notify.Option) (notify.Outcome, *receiver) {
				t.Helper()
				r := receive(t, handler)
				return parse(t, registry(opts...), kind.kind(), httpConfigs(r.url)[kind]).Send(t.Context(), message()), r
			}
			conformStatuses(t, send)
			conformBrokenReceivers(t, send)
			conformAddresses(t, kind)
			conformRepeated(t, kind)
			conformSecrets(t, kind)
			t.Run("NoTemplateOrValueBreaksTheRequest", func(t *testing.T) {
				t.Parallel()
				r := receive(t, nil)
				config := httpConfigs(r.url)[kind]
				config["title_template"], config["body_template"] = `"{{check_name}}"`, "{{ error_message }}\n{{check_id}}"
				for range 2 {
					if got := parse(t, registry(), kind.kind(), config).Send(t.Context(), hostile()); !got.Delivered() {
						t.Fatalf("got %+v", got)
					}
				}
				for _, got := range r.requests() {
					for name, values := range got.header {
						if strings.EqualFold(name, "bcc") || slices.ContainsFunc(values, func(v string) bool {
							return strings.ContainsAny(v,
								"\r\n\x00")
						}) {
							t.Errorf("header %s: %q", name, values)
						}
					}
					if got.header.Get("Content-Type") == "application/json" && !json.Valid(got.body) {
						t.Errorf("not JSON: %s", got.body)
					}
				}
			})
		})
	}
}

type sendTo func(t *testing.T, handler http.HandlerFunc, opts ...notify.Option) (notify.Outcome, *receiver)

func conformStatuses(t *testing.T, send sendTo) {
	t.Helper()
	for _, status := range []int{200, 201, 202, 204, 299} {
		t.Run(fmt.Sprintf("Status%dIsDelivered", status), func(t *testing.T) {
			t.Parallel()
			got, _ := send(t, answer(status))
			if !got.Delivered() || got.StatusCode != status || got.Error != "" || got.Permanent || got.Gone {
				t.Errorf("got %+v", got)
			}
		})
	}
	for _, status := range []int{400, 401, 403, 404, 408, 409, 422, 429, 500, 501, 502, 503, 504, 599} {
		t.Run(fmt.Sprintf("Status%dIsTriedAgain", status), func(t *testing.T) {
			t.Parallel()
			got, r := send(t, answer(status))
			if got.Delivered() || got.StatusCode != status || got.ErrorCode != notify.CodeStatus || got.Permanent || got.Gone ||
				got.RetryAfter != 0 {
				t.Errorf("got %+v", got)
			}
			if n := len(r.requests()); n != 1 {
				t.Errorf("%d requests in one attempt", n)
			}
		})
	}
	t.Run("Status410IsGone", func(t *testing.T) {
		t.Parallel()
		got, _ := send(t, answer(http.StatusGone))
		if got.Delivered() || !got.Gone || got.ErrorCode != notify.CodeGone {
			t.Errorf("got %+v", got)
		}
	})
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprintf("Status%dIsNotFollowed", status), func(t *testing.T) {
			t.Parallel()
			other := receive(t, nil)
			got, _ := send(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", other.url+"/?"+pathToken)
				w.WriteHeader(status)
			})
			if got.Delivered() || got.ErrorCode != notify.CodeRedirect || got.StatusCode != status || got.Permanent || len(other.requests()) != 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
	// The three forms of a date that a recipient has to read (RFC 9110, section 5.6.7).
	for form, layout := range map[string]string{
		"IMFFixdate": http.TimeFormat, "RFC850": "Monday, 02-Jan-06 15:04:05 GMT", "Asctime": time.ANSIC,
	} {
		t.Run("RetryAfterAsDate"+form, func(t *testing.T) {
			t.Parallel()
			for status, counts := range map[int]bool{429: true, 503: true, 500: false} {
				given := time.Now().UTC().Add(2 * time.Hour).Format(layout)
				got, _ := send(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", given)
					w.WriteHeader(status)
				})
				if counts && (got.RetryAfter < time.Hour || got.RetryAfter > 2*time.Hour) || !counts && got.RetryAfter != 0 {
					t.Errorf("%d, %s: wait %s", status, given, got.RetryAfter)
				}
			}
		})
	}
	for given, want := range map[string]time.Duration{
		"7": 7 * time.Second, " 120 ": 2 * time.Minute, "0": 0, "-5": 0, "soon": 0, "86401": notify.MaxRetryAfter,
		"9223372036854775807": notify.MaxRetryAfter, "18446744074": notify.MaxRetryAfter, "99999999999999999999999999": notify.MaxRetryAfter,
		"000000000007": 7 * time.Second, "Fri, 31 Dec 9999 23:59:59 GMT": notify.MaxRetryAfter, "Fri, 31 Dec 1999 23:59:59 GMT": 0,
	} {
		t.Run("RetryAfter"+strings.ReplaceAll(given, " ", ""), func(t *testing.T) {
			t.Parallel()
			for status, counts := range map[int]bool{429: true, 503: true, 500: false} {
				got, _ := send(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", given)
					w.WriteHeader(status)
				})
				if counts && got.RetryAfter != want || !counts && got.RetryAfter != 0 {
					t.Errorf("%d: wait %s", status, got.RetryAfter)
				}
			}
		})
	}
}
