// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"net/http"

	"github.com/vigil-monitor/vigil/client"
)

const pingKeyPath = "/app/organization/ping-key"

// pingKeyRoutes are the pages about the ping key, for those who may write checks: it can do nothing that they cannot.
func (s *Server) pingKeyRoutes(on *routes) {
	on.page("GET "+pingKeyPath, s.pingKeyPage)
	on.page("POST "+pingKeyPath, s.createPingKey)
	on.page("GET "+pingKeyPath+"/rotate", s.confirmPingKeyRotation)
	on.page("POST "+pingKeyPath+"/rotate", s.rotatePingKey)
	on.page("GET "+pingKeyPath+"/revoke", s.confirmPingKeyRevocation)
	on.page("POST "+pingKeyPath+"/revoke", s.revokePingKey)
}

// pingKeySection is what the page of the organization says of its ping key: not the key itself.
type pingKeySection struct {
	Path  string
	Facts []fact // none: there is no key
}

// pingKeySection returns nil for those who may not see the key.
func (r *request) pingKeySection() (*pingKeySection, error) {
	if r.readOnly() {
		return nil, nil //nolint:nilnil // there is no section, which is no error
	}
	section := &pingKeySection{Path: pingKeyPath}
	found, err := r.api.GetPingKeyWithResponse(r.Context())
	if refused, ok := errors.AsType[*APIError](err); ok && refused.Status == http.StatusNotFound {
		return section, nil
	}
	if err != nil {
		return nil, err
	}
	section.Facts = r.pingKeyFacts(found.JSON200.Data)
	return section, nil
}

func (r *request) pingKeyFacts(key client.PingKey) []fact {
	made := r.date(key.RotatedAt)
	return []fact{{Name: "Begins with", Value: key.KeyPrefix + "…", Mono: true}, {Name: "Made", Time: &made}}
}

// pingKeyBody is what the page shows that has the key.
type pingKeyBody struct {
	Title   string // what has just happened to it; empty when it is only shown
	Key     string
	Example string
	Facts   []fact
	Path    string
}

func (r *request) renderPingKey(status int, title string, key client.PingKey) error {
	body := pingKeyBody{
		Title: title, Key: key.PingKey, Path: pingKeyPath, Facts: r.pingKeyFacts(key),
		Example: `backup.sh && curl -fsS -m 10 --retry 5 "` + key.PingUrl + `/nightly-backup?create=1"`,
	}
	return r.render(status, "ping_key", page{Title: "Ping key", Nav: navOrganization, Body: body})
}

func (s *Server) pingKeyPage(r *request) error {
	found, err := r.api.GetPingKeyWithResponse(r.Context())
	if err != nil {
		return err
	}
	return r.renderPingKey(http.StatusOK, "", found.JSON200.Data)
}

func (s *Server) createPingKey(r *request) error {
	made, err := r.api.CreatePingKeyWithResponse(r.Context())
	if err != nil {
		return err
	}
	return r.renderPingKey(http.StatusCreated, "The ping key is made", made.JSON201.Data)
}

// askPingKey asks whether a change of the key is meant.
func (r *request) askPingKey(button, path, text string) error {
	if _, err := r.api.GetPingKeyWithResponse(r.Context()); err != nil {
		return err
	}
	title := button + " the ping key?"
	ask := confirm{Title: title, Text: text, Button: button, Action: pingKeyPath + path, Back: "/app/organization"}
	return r.render(http.StatusOK, "confirm", page{Title: title, Nav: navOrganization, Body: ask})
}

func (s *Server) confirmPingKeyRotation(r *request) error {
	return r.askPingKey("Rotate", "/rotate", "Pings with the key of now are refused at once, so all jobs that use it need the new one.")
}

func (s *Server) rotatePingKey(r *request) error {
	made, err := r.api.RotatePingKeyWithResponse(r.Context())
	if err != nil {
		return err
	}
	return r.renderPingKey(http.StatusOK, "The ping key is rotated", made.JSON200.Data)
}

func (s *Server) confirmPingKeyRevocation(r *request) error {
	return r.askPingKey("Revoke", "/revoke", "Pings with it are refused at once. The heartbeats stay, and so do their own addresses.")
}

func (s *Server) revokePingKey(r *request) error {
	if _, err := r.api.DeletePingKeyWithResponse(r.Context()); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: "The ping key is revoked"})
	return r.redirect("/app/organization")
}
