// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// rulesBody is what the list of rules shows.
type rulesBody struct {
	Check  *link // all rules are of it; nil for those of every check
	Cards  []ruleCard
	New    string   // where a rule is added; empty when a check must be chosen first
	Checks []option // to choose from
	Pager  pager
	Empty  *empty
}

// ruleBody is what the page of a rule shows.
type ruleBody struct {
	Check          link
	Title          string
	Form           *ruleForm
	Action, Button string
	Page           string // its address
	Delete         string
	Sentence       []sentencePart
	Revision       int64 // that the form was made from; 0 for a new rule
}

func (s *Server) ruleRoutes(on *routes) {
	on.page("GET /app/rules", s.allRules)
	on.page("GET /app/rules/new", s.chooseCheck)
	on.page("GET /app/checks/{id}/rules", s.checkRules)
	on.page("GET /app/checks/{id}/rules/new", s.newRule)
	on.page("POST /app/checks/{id}/rules", s.createRule)
	on.page("POST /app/checks/{id}/rules/try", s.tryNewRule)
	on.page("POST /app/checks/{id}/rules/{rule}/try", s.tryRule)
	on.page("GET /app/checks/{id}/rules/{rule}", s.rulePage)
	on.page("POST /app/checks/{id}/rules/{rule}", s.updateRule)
	on.page("GET /app/checks/{id}/rules/{rule}/delete", s.confirmRuleDelete)
	on.page("POST /app/checks/{id}/rules/{rule}/delete", s.deleteRule)
}

// allRules shows the rules of all checks.
func (s *Server) allRules(r *request) error {
	limit := int64(listPage)
	list, err := r.api.ListAllAlertRulesWithResponse(r.Context(), &client.ListAllAlertRulesParams{Limit: &limit, Cursor: r.cursor()})
	if err != nil {
		return err
	}
	channels, err := r.channelNames()
	if err != nil {
		return err
	}
	most := int64(100)
	checks, err := r.api.ListChecksWithResponse(r.Context(), &client.ListChecksParams{Limit: &most})
	if err != nil {
		return err
	}
	body := &rulesBody{
		Cards: ruleCards(list.JSON200.Data, channels, 0, nil),
		Pager: r.pager(list.JSON200.Meta, len(list.JSON200.Data), "rule"),
	}
	for k := range checks.JSON200.Data {
		c := &checks.JSON200.Data[k]
		body.Checks = append(body.Checks, option{Value: c.Id.String(), Text: c.Name})
	}
	names, err := r.checkNames(list.JSON200.Data)
	if err != nil {
		return err
	}
	for k := range body.Cards {
		id := list.JSON200.Data[k].CheckId
		body.Cards[k].Check = &link{Text: cmp.Or(names[id], "a deleted check"), Href: "/app/checks/" + id.String()}
	}
	if len(body.Cards) == 0 {
		body.Empty = &empty{
			Icon: "incidents", Title: "No rule yet",
			Text: "A rule says when results open an incident, and which channels are notified. Choose a check to add one.",
		}
	}
	return r.render(http.StatusOK, "rules", page{Title: "Rules", Nav: navRules, Body: body})
}

// checkNames returns the names of the checks that rules are of.
func (r *request) checkNames(rules []client.AlertRule) (map[uuid.UUID]string, error) {
	var ids []string
	for k := range rules {
		if id := rules[k].CheckId.String(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	names := make(map[uuid.UUID]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	most := int64(len(ids))
	of, err := r.api.ListChecksWithResponse(r.Context(), &client.ListChecksParams{Limit: &most, Id: &ids})
	if err != nil {
		return nil, err
	}
	for k := range of.JSON200.Data {
		names[of.JSON200.Data[k].Id] = of.JSON200.Data[k].Name
	}
	return names, nil
}

// chooseCheck leads to the form for the chosen check.
func (s *Server) chooseCheck(r *request) error {
	id := r.idParameter("check_id")
	if id == nil {
		return r.redirect("/app/rules")
	}
	return r.redirect("/app/checks/" + id.String() + "/rules/new")
}

// readCheck reads the check of the path.
func (r *request) readCheck() (*client.Check, error) {
	id, err := r.pathID("id")
	if err != nil {
		return nil, err
	}
	found, err := r.api.GetCheckWithResponse(r.Context(), id, nil)
	if err != nil {
		return nil, err
	}
	return &found.JSON200.Data, nil
}

// checkRules shows the rules of a check.
func (s *Server) checkRules(r *request) error {
	check, err := r.readCheck()
	if err != nil {
		return err
	}
	limit := int64(listPage)
	list, err := r.api.ListAlertRulesWithResponse(r.Context(), check.Id, &client.ListAlertRulesParams{Limit: &limit, Cursor: r.cursor()})
	if err != nil {
		return err
	}
	channels, err := r.channelNames()
	if err != nil {
		return err
	}
	path := "/app/checks/" + check.Id.String()
	body := &rulesBody{
		Check: &link{Text: check.Name, Href: path}, New: path + "/rules/new", Pager: r.pager(list.JSON200.Meta, len(list.JSON200.Data), "rule"),
		Cards: ruleCards(list.JSON200.Data, channels, len(check.Regions), nil),
	}
	if len(body.Cards) == 0 {
		body.Empty = &empty{
			Icon: "incidents", Title: "No rule yet", Text: "Without a rule, results are stored and no channel is notified.",
			Action: &link{Text: "Add a rule", Href: body.New},
		}
	}
	return r.render(http.StatusOK, "rules", page{Title: "Rules of " + check.Name, Nav: navChecks, Body: body})
}

func (s *Server) newRule(r *request) error {
	check, err := r.readCheck()
	if err != nil {
		return err
	}
	f, err := newRuleForm(r, check, nil)
	if err != nil {
		return err
	}
	return r.renderRule(http.StatusOK, check, nil, f)
}

func (r *request) renderRule(status int, check *client.Check, rule *client.AlertRule, f *ruleForm) error {
	path := "/app/checks/" + check.Id.String()
	body := &ruleBody{
		Check: link{Text: check.Name, Href: path}, Title: "New rule", Form: f, Action: path + "/rules", Button: "Create rule",
	}
	if rule != nil {
		body.Revision = revisionOf(rule.Revision)
		channels, err := r.channelNames()
		if err != nil {
			return err
		}
		body.Title, body.Action, body.Button = rule.Name, rulePath(check.Id, rule.Id), "Save"
		body.Delete, body.Sentence = body.Action+"/delete", ruleSentence(rule, channels, len(check.Regions))
	}
	body.Page = pageOfForm(body.Action, rule == nil)
	f.Try = body.Action + "/try"
	return r.render(status, "rule", page{Title: body.Title + " of " + check.Name, Nav: navChecks, Body: body})
}

func (s *Server) createRule(r *request) error {
	check, err := r.readCheck()
	if err != nil {
		return err
	}
	f, err := newRuleForm(r, check, nil)
	if err != nil {
		return err
	}
	body, err := f.json()
	if err != nil {
		return err
	}
	made, err := r.api.CreateAlertRuleWithBodyWithResponse(r.Context(), check.Id, nil, "application/json", strings.NewReader(body))
	if err != nil {
		if f.refused(err) {
			f.Heading = "Not created yet."
			return r.renderRule(f.Status, check, nil, f)
		}
		return err
	}
	r.flash(writtenRule("Rule "+made.JSON201.Data.Name+" is created", &made.JSON201.Data))
	return r.redirect("/app/checks/" + check.Id.String() + "/rules")
}

// readRule reads the check and the rule of the path.
func (r *request) readRule() (*client.Check, *client.AlertRule, error) {
	check, err := r.readCheck()
	if err != nil {
		return nil, nil, err
	}
	id, err := uuid.Parse(r.PathValue("rule"))
	if err != nil {
		return nil, nil, errNoPage()
	}
	found, err := r.api.GetAlertRuleWithResponse(r.Context(), check.Id, id, nil)
	if err != nil {
		return nil, nil, err
	}
	return check, &found.JSON200.Data, nil
}

func (s *Server) rulePage(r *request) error {
	check, rule, err := r.readRule()
	if err != nil {
		return err
	}
	f, err := newRuleForm(r, check, rule)
	if err != nil {
		return err
	}
	return r.renderRule(http.StatusOK, check, rule, f)
}

func (s *Server) updateRule(r *request) error {
	check, rule, err := r.readRule()
	if err != nil {
		return err
	}
	f, err := newRuleForm(r, check, rule)
	if err != nil {
		return err
	}
	body, err := f.json()
	if err != nil {
		return err
	}
	changed, err := r.api.UpdateAlertRuleWithBodyWithResponse(r.Context(), check.Id, rule.Id,
		&client.UpdateAlertRuleParams{IfMatch: f.ifMatch()}, "application/json", strings.NewReader(body))
	if err != nil {
		if f.refused(err) {
			return r.renderRule(f.Status, check, rule, f)
		}
		return err
	}
	r.flash(writtenRule("Saved", &changed.JSON200.Data))
	return r.redirect("/app/checks/" + check.Id.String() + "/rules")
}

// writtenRule says that a rule is written, and what the API warns of.
func writtenRule(done string, rule *client.AlertRule) flash {
	return flash{Mark: "done", Text: done}.warn(rule.Warnings)
}

func (s *Server) confirmRuleDelete(r *request) error {
	check, rule, err := r.readRule()
	if err != nil {
		return err
	}
	ask := confirm{
		Title: "Delete the rule “" + rule.Name + "” of " + check.Name + "?", Button: "Delete", Back: rulePath(check.Id, rule.Id),
		Action: rulePath(check.Id, rule.Id) + "/delete", Text: "An incident that only this rule keeps open resolves.",
	}
	return r.render(http.StatusOK, "confirm", page{Title: "Delete " + rule.Name, Nav: navChecks, Body: ask})
}

func (s *Server) deleteRule(r *request) error {
	check, rule, err := r.readRule()
	if err != nil {
		return err
	}
	if _, err := r.api.DeleteAlertRuleWithResponse(r.Context(), check.Id, rule.Id, nil); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: "Rule " + rule.Name + " is deleted"})
	return r.redirect("/app/checks/" + check.Id.String() + "/rules")
}

// pageOfForm is the address of a form that posts to a path.
func pageOfForm(action string, isNew bool) string {
	if isNew {
		return action + "/new"
	}
	return action
}
