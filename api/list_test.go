// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// meta is a member of a list's meta.
func (a answer) meta(name string) any {
	meta, _ := a.body["meta"].(map[string]any)
	return meta[name]
}

// walk reads a list by cursor and returns a member of each row, and the number of pages.
func (c *client) walk(t *testing.T, path, member string) (values []string, pages int) {
	t.Helper()
	for next := path; ; {
		page := c.want(t, http.StatusOK, http.MethodGet, next, nil)
		for _, row := range page.rows(t) {
			values = append(values, text(row, member))
		}
		pages++
		cursor, more := page.meta("next_cursor").(string)
		if !more || pages > 100 {
			return values, pages
		}
		next = path + "&cursor=" + url.QueryEscape(cursor)
	}
}

func TestLabelsOfResources(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	labels := map[string]any{"team": "web", "env": "prod"}
	channel := a.channel(t, with("labels", labels))
	check := a.check(t, with("labels", labels))
	at := "/v1/checks/" + text(check, "id")
	rule := a.want(t, http.StatusCreated, http.MethodPost, at+"/alerts", map[string]any{
		"name": "Down", "condition": map[string]any{"health_status": "down"},
		"notification_channel_ids": []string{text(channel, "id")}, "labels": labels,
	}).data(t)
	for path, made := range map[string]map[string]any{
		"/v1/checks/": check, "/v1/notification-channels/": channel, at + "/alerts/": rule,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			one := path + text(made, "id")
			if got := encoded(t, made["labels"]); got != `{"env":"prod","team":"web"}` {
				t.Errorf("created with %s", got)
			}
			// Members that are left out stay; labels are replaced as a whole.
			got := a.want(t, http.StatusOK, http.MethodPut, one, map[string]any{"name": "Renamed"}).data(t)
			if encoded(t, got["labels"]) != `{"env":"prod","team":"web"}` {
				t.Errorf("after a rename %v", got["labels"])
			}
			got = a.want(t, http.StatusOK, http.MethodPut, one, map[string]any{"labels": map[string]any{"a/b": ""}}).data(t)
			if encoded(t, got["labels"]) != `{"a/b":""}` {
				t.Errorf("replaced by %v", got["labels"])
			}
			list := strings.TrimSuffix(path, "/")
			if strings.HasSuffix(list, "/alerts") {
				list = "/v1/alert-rules"
			}
			for query, want := range map[string]int{
				"label=a/b": 1, "label=a/b%3D": 1, "label=a/b%3Dx": 0, "label=team": 0, "label=a/b&label=team": 0,
			} {
				if rows := a.want(t, http.StatusOK, http.MethodGet, list+"?"+query, nil).rows(t); len(rows) != want {
					t.Errorf("%s finds %d, want %d", query, len(rows), want)
				}
			}
			for raw, member := range map[string]string{
				`{"labels":{"Team":"x"}}`: "labels", `{"labels":null}`: "labels", `{"labels":[]}`: "labels", `{"labels":{"k":1}}`: "labels.k",
				`{"labels":{"k":null}}`: "labels.k", `{"labels":{"k":"` + strings.Repeat("v", 201) + `"}}`: "labels.k",
				`{"labels":{"k":"a\u0000b"}}`: "labels.k",
			} {
				if r := a.want(t, http.StatusBadRequest, http.MethodPut, one, raw); r.detail("member") != member {
					t.Errorf("%.60s names %v, want %s", raw, r.detail("member"), member)
				}
			}
			got = a.want(t, http.StatusOK, http.MethodPut, one, map[string]any{"labels": map[string]any{}}).data(t)
			if encoded(t, got["labels"]) != `{}` {
				t.Errorf("removed, %v is left", got["labels"])
			}
		})
	}
}

func TestListsByCursor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := b.signup(t), b.signup(t)
	channel := a.channel(t)
	for i := range 7 {
		check := a.check(t, with("name", string(rune('a'+i))+" shop"), with("labels", map[string]any{"odd": []string{"no", "yes"}[i%2]}))
		a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks/"+text(check, "id")+"/alerts", map[string]any{
			"name": "rule " + string(rune('a'+i)), "condition": map[string]any{"health_status": "down"},
			"notification_channel_ids": []string{text(channel, "id")},
		})
	}
	for path, want := range map[string]struct {
		names string
		pages int
	}{
		"/v1/checks?limit=3":                                {"g shop,f shop,e shop,d shop,c shop,b shop,a shop", 3},
		"/v1/checks?limit=7":                                {"g shop,f shop,e shop,d shop,c shop,b shop,a shop", 1},
		"/v1/checks?limit=2&sort=name&label=odd=no":         {"a shop,c shop,e shop,g shop", 2},
		"/v1/checks?limit=2&sort=-name&query=SHOP&type=dns": {"", 1},
		"/v1/alert-rules?limit=4":                           {"rule g,rule f,rule e,rule d,rule c,rule b,rule a", 2},
		"/v1/alert-rules?limit=4&query=rule%20b":            {"rule b", 1},
		"/v1/notification-channels?limit=4&type=email":      {"", 1},
	} {
		got, pages := a.walk(t, path, "name")
		if joined := strings.Join(got, ","); strings.Trim(joined, ",") != want.names || pages != want.pages {
			t.Errorf("%s: %s on %d pages, want %s on %d", path, joined, pages, want.names, want.pages)
		}
	}
	first := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?limit=2&sort=name", nil)
	cursor, _ := first.meta("next_cursor").(string)
	if first.meta("total") != "7" || first.meta("total_capped") != nil || cursor == "" {
		t.Fatalf("meta is %v", first.body["meta"])
	}
	if second := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?limit=100&sort=name&cursor="+cursor, nil); second.meta("total") != "7" ||
		len(second.rows(t)) != 5 || second.meta("next_cursor") != nil {
		t.Errorf("the next page has %d rows and %v", len(second.rows(t)), second.body["meta"])
	}
	for path, member := range map[string]string{
		"/v1/checks?sort=-name&cursor=" + cursor:         "cursor", // another sort
		"/v1/checks?sort=name&query=a&cursor=" + cursor:  "cursor", // another filter
		"/v1/alert-rules?cursor=" + cursor:               "cursor", // another list
		"/v1/checks?sort=name&cursor=" + cursor[1:]:      "cursor",
		"/v1/checks?sort=name&cursor=x":                  "cursor",
		"/v1/checks?sort=name&offset=2&cursor=" + cursor: "offset",
		"/v1/checks?sort=health":                         "sort",
		"/v1/checks?type=gopher":                         "type",
		"/v1/checks?region=nowhere":                      "region",
		"/v1/checks?health=fine":                         "health",
		"/v1/checks?label=A":                             "label",
		"/v1/checks?label=a&label=":                      "label",
		"/v1/checks?label=%00":                           "label",
		"/v1/checks?query=a&query=b":                     "query",
		"/v1/alert-rules?check_id=7":                     "check_id",
	} {
		if r := a.want(t, http.StatusBadRequest, http.MethodGet, path, nil); r.detail("member") != member {
			t.Errorf("%s names %v, want %s: %s", path, r.detail("member"), member, r.raw)
		}
	}
	// A cursor opens no other organization's list: there it is a place in an empty one.
	if rows := other.want(t, http.StatusOK, http.MethodGet, "/v1/checks?sort=name&cursor="+cursor, nil).rows(t); len(rows) != 0 {
		t.Errorf("another organization reads %v", rows)
	}
}

func TestAlertRulesOfAllChecks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := b.signup(t), b.signup(t)
	one, two := a.channel(t), a.channel(t)
	var rules, checks []string
	for i, channel := range []map[string]any{one, two, one} {
		check := a.check(t)
		checks = append(checks, text(check, "id"))
		rule := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks/"+checks[i]+"/alerts", map[string]any{
			"name": "Down", "condition": map[string]any{"health_status": "down"}, "enabled": i != 2,
			"notification_channel_ids": []string{text(channel, "id")},
		}).data(t)
		rules = append(rules, text(rule, "id"))
		got := a.want(t, http.StatusOK, http.MethodGet, "/v1/alert-rules/"+rules[i], nil).data(t)
		if encoded(t, got) != encoded(t, rule) {
			t.Errorf("by its id alone it is %v, want %v", got, rule)
		}
	}
	for query, want := range map[string][]string{
		"":                                     {rules[2], rules[1], rules[0]},
		"?check_id=" + checks[1]:               {rules[1]},
		"?channel_id=" + text(one, "id"):       {rules[2], rules[0]},
		"?enabled=true":                        {rules[1], rules[0]},
		"?enabled=false&check_id=" + checks[2]: {rules[2]},
		"?check_id=" + text(one, "id"):         {},
		"?limit=1&offset=1":                    {rules[1]},
	} {
		var got []string
		for _, row := range a.want(t, http.StatusOK, http.MethodGet, "/v1/alert-rules"+query, nil).rows(t) {
			got = append(got, text(row, "id"))
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q lists %v, want %v", query, got, want)
		}
	}
	if rows := other.want(t, http.StatusOK, http.MethodGet, "/v1/alert-rules", nil).rows(t); len(rows) != 0 {
		t.Errorf("another organization sees %v", rows)
	}
}

func TestCheckCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	a.check(t)
	a.check(t, with("enabled", false))
	if plain := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil); plain.meta("counts") != nil {
		t.Errorf("counts that nothing asked for: %v", plain.body["meta"])
	}
	got := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?counts=true&enabled=true", nil)
	const counts = `{"disabled":1,"failing":0,"healthy":0,"passing":0,"unhealthy":0,"unknown":1,"warning":0}`
	if encoded(t, got.meta("counts")) != counts || len(got.rows(t)) != 1 {
		t.Errorf("got %v", got.body["meta"])
	}
}
