// SPDX-License-Identifier: Apache-2.0

package web

import (
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// room is a group of the checks that have one value of a label, with how they do in all.
type room struct {
	Mark   mark
	Text   string // 2 of 14 failing
	Folded bool
	Href   string    // folds or unfolds it
	All    string    // the address of the room alone
	Rest   string    // how many of its checks are not shown; empty for none
	More   *moreRows // the rows behind those that are shown
}

// Bounds of what is remembered as folded: the newest ones fit into a cookie.
const (
	foldedCookie = "vigil_folded"
	maxFolded    = 100
)

// rooms reads the checks in groups by a label: how all of them do, and the rows of those that are not folded,
// up to rowsPerPage rows on a page. The answer of the API is that of the whole list.
func (b *overviewBody) rooms(r *request) (*client.ListChecksResponse, error) {
	view, one, key := b.View, int64(1), b.View.room()
	params := view.params()
	params.Limit, params.Cursor, params.GroupBy, params.Summary = &one, nil, &key, nil
	list, err := r.api.ListChecksWithResponse(r.Context(), params)
	if err != nil {
		return nil, err
	}
	if list.JSON200.Meta.Groups == nil {
		return list, nil
	}
	folded := r.folded()
	left := rowsPerPage
	for _, group := range *list.JSON200.Meta.Groups {
		shown := inState(&group, view.State)
		if shown == 0 {
			continue
		}
		made := roomOf(&group, key, view, r.who.UserID.String())
		at := made.Room
		at.Folded = slices.Contains(folded, made.ID) && view.Cursor == ""
		at.Href = b.foldHref(folded, made.ID)
		if !at.Folded {
			if left > 0 {
				if err := b.fillRoom(r, &made, &group, left); err != nil {
					return nil, err
				}
				left -= len(made.Rows)
			}
			if rest := shown - int64(len(made.Rows)); rest > 0 && view.Cursor == "" {
				at.Rest, b.cut = counted(rest, "check"), true
			}
		}
		b.Groups = append(b.Groups, made)
	}
	return list, nil
}

// fillRoom reads the rows of a room.
func (b *overviewBody) fillRoom(r *request, made *checkGroup, group *client.CheckGroup, most int) error {
	view, limit := b.View, int64(most)
	view.Labels = labelsOfRoom(view, group)
	params := view.params()
	params.Limit, params.Counts, params.LabelKeys = &limit, nil, nil
	list, err := r.api.ListChecksWithResponse(r.Context(), params)
	if err != nil {
		return err
	}
	for i := range list.JSON200.Data {
		made.Rows = append(made.Rows, r.checkRow(&list.JSON200.Data[i]))
	}
	b.checks = append(b.checks, list.JSON200.Data...)
	made.Heading = view.Cursor == ""
	if next := list.JSON200.Meta.NextCursor; next != nil {
		made.Room.More = view.more(*next)
		made.Room.More.Part = "more-" + made.ID
	}
	return nil
}

// labelsOfRoom are the labels that select the checks of a room.
func labelsOfRoom(v checkView, group *client.CheckGroup) []string {
	own := "!" + v.room()
	if group.Value != nil {
		own = v.room() + "=" + *group.Value
	}
	if slices.Contains(v.Labels, own) {
		return v.Labels
	}
	return append(slices.Clone(v.Labels), own)
}

// inState is how many checks of a group are in a state; all of them for none.
func inState(group *client.CheckGroup, state string) int64 {
	switch state {
	case "failing":
		return group.Failing
	case "warning":
		return group.Warning
	case "passing":
		return group.Passing
	case "unknown":
		return group.Unknown
	case "disabled":
		return group.Disabled
	}
	return group.Total
}

// roomOf is the heading of a group: its worst state, and how many of its checks are in it.
func roomOf(group *client.CheckGroup, key string, view checkView, user string) checkGroup {
	name := "no " + key
	if group.Value != nil {
		if name = *group.Value; name == "" {
			name = key + " is empty"
		}
	}
	state, n := "disabled", group.Disabled
	for _, one := range []struct {
		state string
		n     int64
	}{{"failing", group.Failing}, {"warning", group.Warning}, {"unknown", group.Unknown}, {"passing", group.Passing}} {
		if one.n > 0 {
			state, n = one.state, one.n
			break
		}
	}
	m := stateMark(state)
	m.Shown = true
	words := map[string]string{
		"failing":  "failing",
		"warning":  "with a warning",
		"unknown":  "without a result",
		"passing":  "passing",
		"disabled": "paused",
	}
	view.Labels = labelsOfRoom(view, group)
	text := number(n) + " of " + number(group.Total) + " " + words[state]
	if n == group.Total {
		text = "all " + number(n) + " " + words[state]
		if n == 1 {
			text = "1 " + words[state]
		}
	}
	return checkGroup{
		Name: name, ID: roomID(user, key, group.Value), Count: number(group.Total), Heading: true,
		Room: &room{Mark: m, Text: text, All: view.with(func(*checkView) {})},
	}
}

// roomID is a short name of a room of a user, which says nothing of the label.
func roomID(user, key string, value *string) string {
	sum := fnv.New64a()
	text := user + "\n" + key
	if value != nil {
		text += "=" + *value
	}
	_, _ = sum.Write([]byte(text))
	return strconv.FormatUint(sum.Sum64(), 36)
}

// foldHref is the address of the view with one more room folded, or one less.
func (b *overviewBody) foldHref(folded []string, id string) string {
	rest := slices.DeleteFunc(slices.Clone(folded), func(one string) bool { return one == id })
	if len(rest) == len(folded) {
		rest = append(rest, id)
	}
	values := b.View.values()
	values.Set("folded", strings.Join(rest[max(0, len(rest)-maxFolded):], "."))
	return "/app?" + values.Encode() + "#group-" + id
}

// folded are the rooms that are folded: those of the address where it says so, which the browser keeps, and
// else those that it keeps.
func (r *request) folded() []string {
	text, chosen := r.URL.Query().Get("folded"), r.URL.Query().Has("folded")
	if !chosen {
		if cookie, err := r.Cookie(foldedCookie); err == nil {
			text = cookie.Value
		}
	}
	var ids []string
	for id := range strings.SplitSeq(text, ".") {
		if _, err := strconv.ParseUint(id, 36, 64); err == nil && len(ids) < maxFolded {
			ids = append(ids, id)
		}
	}
	return ids
}

// keepFolded keeps in the browser which rooms the address says are folded.
func (r *request) keepFolded() {
	if !r.URL.Query().Has("folded") {
		return
	}
	http.SetCookie(r.w, &http.Cookie{ //nolint:gosec // Secure where browsers use TLS
		Name: foldedCookie, Value: strings.Join(r.folded(), "."), Path: "/app", MaxAge: int(preferencesAge.Seconds()),
		HttpOnly: true, Secure: r.s.deps.Config.secure(), SameSite: http.SameSiteLaxMode,
	})
}
