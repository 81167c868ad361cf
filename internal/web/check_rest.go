// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// A check that is paused or muted for a while is in a maintenance window of its own, once: its end is
// stored, so it comes without the dashboard. Such a window has a name that says who made it.
const (
	pausedBy = "Paused by "
	mutedBy  = "Muted by "
)

// quickHour is the hour of the choice "until tomorrow", as clocks of the user show it.
const quickHour = 9

// rest is a pause or a muting that a form asks for.
type rest struct {
	mute  bool
	until time.Time
}

// restRoutes registers what pauses and mutes a check for a while.
func (s *Server) restRoutes(on *routes) {
	on.page("POST /app/checks/{id}/rest", s.restCheck)
}

// readRest reads the form: for has pause or mute, and hour, tomorrow or the time in until.
func (r *request) readRest() (rest, error) {
	what, how, _ := strings.Cut(r.PostFormValue("for"), ":")
	asked := rest{mute: what == "mute"}
	now := r.now.In(r.prefs.Zone)
	switch how {
	case "hour":
		asked.until = now.Add(time.Hour)
	case "tomorrow":
		asked.until = time.Date(now.Year(), now.Month(), now.Day()+1, quickHour, 0, 0, 0, r.prefs.Zone)
	default:
		until, err := time.ParseInLocation("2006-01-02T15:04", r.PostFormValue("until"), r.prefs.Zone)
		if err != nil {
			return asked, errForm("Choose until when: a day and a time.")
		}
		asked.until = until
	}
	return asked, nil
}

// restCheck pauses or mutes the check until a time.
func (s *Server) restCheck(r *request) error {
	id, err := r.checkID()
	if err != nil {
		return err
	}
	back := "/app/checks/" + id.String()
	asked, wrong := r.readRest()
	if wrong != nil {
		r.flash(flash{Mark: "down", Text: wrong.Error()})
		return r.redirect(back)
	}
	made, err := r.beginRest(id, asked)
	if known, ok := errors.AsType[*APIError](err); ok && known.Status == http.StatusBadRequest {
		r.flash(flash{Mark: "down", Text: "Choose a time from a minute to 14 days from now."})
		return r.redirect(back)
	}
	if err != nil {
		return err
	}
	word := "Paused until "
	if asked.mute {
		word = "Muted until "
	}
	r.flash(flash{
		Mark: "done", Text: word + asked.until.In(r.prefs.Zone).Format("2 Jan, 15:04"), Post: true, LinkText: "Undo",
		Link: "/app/maintenance/" + made.String() + "/end", Fields: map[string][]string{"back": {back}},
	})
	return r.redirect(back)
}

// beginRest makes the window, or lets an earlier one of this kind that has ended be it: so they do not
// pile up.
func (r *request) beginRest(check uuid.UUID, asked rest) (uuid.UUID, error) {
	if _, err := r.api.GetCheckWithResponse(r.Context(), check, nil); err != nil {
		return uuid.Nil, err
	}
	name, err := r.ownName()
	if err != nil {
		return uuid.Nil, err
	}
	now := r.now.In(r.prefs.Zone).Truncate(time.Second)
	zone, start := r.prefs.Zone.String(), now.Format("2006-01-02T15:04:05")
	if again, err := time.ParseInLocation("2006-01-02T15:04:05", start, r.prefs.Zone); err != nil || !again.Equal(now) {
		zone, start = "UTC", now.UTC().Format("2006-01-02T15:04:05") // clocks show this hour twice
	}
	seconds := int64(asked.until.Sub(now) / time.Second)
	ids := []string{check.String()}
	scope := client.MaintenanceScope{CheckIds: &ids}
	probing, uptime, title := client.MaintenanceWindowCreateProbingPause, client.MaintenanceWindowCreateUptimeExclude, pausedBy+name
	if asked.mute {
		probing, uptime, title = client.MaintenanceWindowCreateProbingContinue, client.MaintenanceWindowCreateUptimeInclude, mutedBy+name
	}
	old, err := r.endedRest()
	if err != nil {
		return uuid.Nil, err
	}
	if old != uuid.Nil {
		_, err := r.api.UpdateMaintenanceWindowWithResponse(r.Context(), old, nil, client.UpdateMaintenanceWindowJSONRequestBody{
			Name: &title, Scope: &scope, StartsAt: &start, Timezone: &zone, DurationSeconds: &seconds, Enabled: of(true),
			Probing: of(client.MaintenanceWindowUpdateProbing(probing)), Uptime: of(client.MaintenanceWindowUpdateUptime(uptime)),
		})
		return old, err
	}
	made, err := r.api.CreateMaintenanceWindowWithResponse(r.Context(), nil, client.CreateMaintenanceWindowJSONRequestBody{
		Name: title, Scope: scope, StartsAt: start, Timezone: &zone, DurationSeconds: seconds, Probing: &probing, Uptime: &uptime,
	})
	if err != nil {
		return uuid.Nil, err
	}
	return made.JSON201.Data.Id, nil
}

// endedRest returns a window of an earlier pause or muting that has ended, nil for none.
func (r *request) endedRest() (uuid.UUID, error) {
	limit, ended := int64(100), client.ListMaintenanceWindowsParamsStateEnded
	list, err := r.api.ListMaintenanceWindowsWithResponse(r.Context(), &client.ListMaintenanceWindowsParams{Limit: &limit, State: &ended})
	if err != nil {
		return uuid.Nil, err
	}
	for i := range list.JSON200.Data {
		if w := &list.JSON200.Data[i]; w.ManagedBy == nil && isRest(w) {
			return w.Id, nil
		}
	}
	return uuid.Nil, nil
}

// isRest reports whether a window is of a pause or a muting of one check.
func isRest(w *client.MaintenanceWindow) bool {
	all := w.Scope.All != nil && *w.Scope.All
	labels := w.Scope.Labels != nil && len(*w.Scope.Labels) > 0
	one := w.Scope.CheckIds != nil && len(*w.Scope.CheckIds) == 1
	named := strings.HasPrefix(w.Name, pausedBy) || strings.HasPrefix(w.Name, mutedBy)
	return one && !all && !labels && w.Rrule == "" && w.Cron == "" && named
}

// maxPerson is how many characters of a name the name of a window has.
const maxPerson = 100

// ownName is how others know the user.
func (r *request) ownName() (string, error) {
	me, err := r.api.GetMeWithResponse(r.Context())
	if err != nil {
		return "", err
	}
	known := &me.JSON200.Data.User
	name := []rune(strings.TrimSpace(cmp.Or(known.Name, string(known.Email))))
	return string(name[:min(len(name), maxPerson)]), nil
}

// rested words the note of a check that is paused or muted.
func (n *maintenanceNote) rested(w *client.MaintenanceWindow) {
	n.Title = "In maintenance"
	if !isRest(w) {
		return
	}
	n.End = n.Href + "/end"
	if by, ok := strings.CutPrefix(w.Name, pausedBy); ok {
		n.Title, n.By, n.Does, n.EndText = "Paused", by, "resumes by itself", "Resume now"
		return
	}
	n.Title, n.By, n.EndText = "Muted", strings.TrimPrefix(w.Name, mutedBy), "Unmute now"
	n.Does = "probing goes on and no incident opens; the end of one that is open is notified"
}
