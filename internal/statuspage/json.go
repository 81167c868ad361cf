// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"encoding/json"
	"fmt"
	"time"
)

type jsonPage struct {
	Title     string         `json:"title"`
	URL       string         `json:"url"`
	State     string         `json:"state"` // working, failing, slow or no-data
	Headline  string         `json:"headline"`
	Detail    string         `json:"detail"`
	UpdatedAt time.Time      `json:"updated_at"`
	Groups    []jsonGroup    `json:"groups"`
	Incidents []jsonIncident `json:"incidents"`
	// Maintenance runs, or starts within 14 days.
	Maintenance []jsonMaintenance `json:"maintenance"`
}

type jsonMaintenance struct {
	Services []string  `json:"services"`
	StartsAt time.Time `json:"starts_at"`
	EndsAt   time.Time `json:"ends_at"`
}

type jsonGroup struct {
	Name     string        `json:"name"`
	State    string        `json:"state"` // the worst of its services
	Services []jsonService `json:"services"`
}

type jsonService struct {
	Name        string     `json:"name"`
	State       string     `json:"state"`
	Paused      bool       `json:"paused"` // it is not checked at the moment
	Since       *time.Time `json:"since"`
	FailingFrom []string   `json:"failing_from"` // continents
	// UptimePercent is over the days, rounded down; null without results.
	UptimePercent *json.Number `json:"uptime_percentage"`
	Days          []jsonDay    `json:"days"` // oldest first
}

type jsonDay struct {
	Date string `json:"date"`
	// UptimePercent is null for a day without results.
	UptimePercent *json.Number `json:"uptime_percentage"`
}

type jsonIncident struct {
	Title      string       `json:"title"`
	Service    string       `json:"service"`
	StartedAt  time.Time    `json:"started_at"`
	ResolvedAt *time.Time   `json:"resolved_at"`
	Updates    []jsonUpdate `json:"updates"`
}

type jsonUpdate struct {
	State     string    `json:"state"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"created_at"`
}

// json writes the page for programs, in the envelope of the API.
func (v *view) json() ([]byte, error) {
	page := jsonPage{
		Title: v.Page.Title, URL: v.URL, State: v.State.String(), Headline: v.Headline, Detail: v.Detail, UpdatedAt: v.At,
		Groups: []jsonGroup{}, Incidents: []jsonIncident{}, Maintenance: []jsonMaintenance{},
	}
	for _, one := range v.Maintenance {
		page.Maintenance = append(page.Maintenance, jsonMaintenance{Services: one.names, StartsAt: one.Start, EndsAt: one.End})
	}
	for _, g := range v.Groups {
		group := jsonGroup{Name: g.Name, State: g.State.String()}
		for _, s := range g.Services {
			group.Services = append(group.Services, s.json(v))
		}
		page.Groups = append(page.Groups, group)
	}
	for _, one := range v.entries {
		shown := jsonIncident{
			Title: one.Title, Service: one.services, StartedAt: one.Start, ResolvedAt: notZero(one.End), Updates: []jsonUpdate{},
		}
		for _, u := range one.Updates {
			shown.Updates = append(shown.Updates, jsonUpdate{State: u.state, Text: u.Text, CreatedAt: u.At})
		}
		page.Incidents = append(page.Incidents, shown)
	}
	text, err := json.Marshal(map[string]any{"data": page})
	if err != nil {
		return nil, fmt.Errorf("write a status page: %w", err)
	}
	return append(text, '\n'), nil
}

func (s *service) json(v *view) jsonService {
	out := jsonService{
		Name:          s.name,
		State:         s.state.String(),
		Paused:        s.paused,
		Since:         notZero(s.since.UTC()),
		FailingFrom:   append([]string{}, continents(s.failingIn)...),
		UptimePercent: number(s.Uptime()),
		Days:          make([]jsonDay, len(s.days)),
	}
	for i, day := range s.days {
		out.Days[i] = jsonDay{
			Date: firstDay(v.At).AddDate(0, 0, i).Format(time.DateOnly), UptimePercent: number(uptime(day.Total, day.Failed)),
		}
	}
	return out
}

func number(text string) *json.Number {
	if text == "" {
		return nil
	}
	n := json.Number(text)
	return &n
}

func notZero(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}
