package web

import "net/http"

func (s *Server) overviewRoutes(on *routes) {
	on.page("GET /app", s.overview)
	on.open("GET /app/{$}", func(r *request) error { return r.redirect("/app") })
}

func (s *Server) overview(r *request) error {
	return r.render(http.StatusOK, "checks", page{Title: "Checks", Nav: navChecks})
}
