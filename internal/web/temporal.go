// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"github.com/google/uuid"
)

// temporalRoutes lead operators to the Temporal UI, which asks who they are here.
func (s *Server) temporalRoutes(on *routes) {
	if s.deps.TemporalUI == nil {
		return
	}
	on.page("GET /app/temporal", func(r *request) error {
		session, err := uuid.Parse(r.s.sessions.id(r.Context()))
		if err != nil {
			return r.toSignIn()
		}
		address, err := s.deps.TemporalUI(r.Context(), r.who.UserID, session, r.FormValue("next"))
		if err != nil {
			return err
		}
		r.w.Header().Set("Cache-Control", "no-store")
		r.w.Header().Set("Referrer-Policy", "no-referrer")
		http.Redirect(r.w, r.Request, address, http.StatusSeeOther) // the operator's own address of the UI
		return nil
	})
}
