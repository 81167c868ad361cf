// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// checkCopy is the check that the form of a new one is a copy of.
type checkCopy struct {
	ID, Name, Href string
	Rules          []option // of it, to choose which come along
	Field          *field   // names what is wrong with them
	Secrets        []link   // fields of what is secret, which is not copied

	rules []client.AlertRule
}

// copyOf begins the form with a check that there is, without its secrets.
func (c *checkForm) copyOf(id uuid.UUID) error {
	stored, err := c.r.storedCheck(id)
	if err != nil {
		return err
	}
	c.begin(stored.kind)
	typed := stored.entered()
	for _, name := range []string{
		formKey, firstRulePath + "condition.failure_threshold", firstRulePath + "region_policy",
		firstRulePath + "notify_on", firstRulePath + "condition.severity",
	} {
		typed.Values[name] = c.typed.Values[name]
	}
	for name, values := range typed.Values {
		switch value := strings.Join(values, ""); {
		case !strings.Contains(value, secret.Mask):
		case value == secret.Mask:
			typed.Set(name, "")
			typed.Add(formSecrets, name)
		default: // a parameter of an address
			typed.Set(name, strings.ReplaceAll(value, secret.Mask, ""))
			typed.Add(formSecrets, name)
		}
	}
	if c.typed, c.kind = typed, stored.kind; c.kind == kindHeartbeat {
		typed.Del("regions")
	}
	free, err := c.r.freeName(stored.name)
	if err != nil {
		return err
	}
	typed.Set("name", free)
	typed.Set(formCopy, id.String())
	if err := c.readCopy(); err != nil {
		return err
	}
	for i := range c.copied.rules {
		typed.Add(formRules, c.copied.rules[i].Id.String())
	}
	return nil
}

// readCopy reads the check that a new one is a copy of. When it is deleted meanwhile, the form goes on
// without its rules.
func (c *checkForm) readCopy() error {
	id, err := uuid.Parse(c.typed.Get(formCopy))
	if err != nil || c.stored != nil {
		return nil //nolint:nilerr // it is no copy
	}
	found, err := c.r.api.GetCheckWithResponse(c.r.Context(), id, nil)
	if known, ok := errors.AsType[*APIError](err); ok && known.Status == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	limit := int64(100)
	rules, err := c.r.api.ListAlertRulesWithResponse(c.r.Context(), id, &client.ListAlertRulesParams{Limit: &limit})
	if err != nil {
		return err
	}
	c.copied = &checkCopy{ID: id.String(), Name: found.JSON200.Data.Name, Href: "/app/checks/" + id.String(), rules: rules.JSON200.Data}
	return nil
}

// copiedRules are the chosen rules of the check that this one is a copy of, as the API takes them.
func (c *checkForm) copiedRules() []map[string]any {
	if c.copied == nil {
		return nil
	}
	var bodies []map[string]any
	for i := range slices.Backward(c.copied.rules) { // the API lists the newest first
		rule := &c.copied.rules[i]
		if !slices.Contains(c.typed.Values[formRules], rule.Id.String()) {
			continue
		}
		bodies = append(bodies, map[string]any{
			"name": rule.Name, "condition": rule.Condition, "notification_channel_ids": rule.NotificationChannelIds, "notify_on": rule.NotifyOn,
			"notify_if_open": rule.NotifyIfOpen, "unobserved": rule.Unobserved, "region_policy": rule.RegionPolicy, "enabled": rule.Enabled,
			"labels": rule.Labels,
		})
	}
	return bodies
}

// showCopy says of what check the form is a copy, and which secrets are to be typed again.
func (c *checkForm) showCopy(v *checkFormView) {
	if c.copied == nil {
		return
	}
	v.Copy = c.copied
	v.Copy.Field = &field{Name: formRules, Label: "Rules of " + c.copied.Name, Type: "group"}
	for i := range slices.Backward(c.copied.rules) {
		rule := &c.copied.rules[i]
		id := rule.Id.String()
		v.Copy.Rules = append(v.Copy.Rules, option{Value: id, Text: rule.Name, Chosen: slices.Contains(c.typed.Values[formRules], id)})
	}
	for _, known := range c.fields {
		if slices.Contains(c.typed.Values[formSecrets], known.Name) {
			v.Copy.Secrets = append(v.Copy.Secrets, link{Text: c.labelOf(known), Href: "#" + known.ID()})
		}
	}
	c.fields = append(c.fields, v.Copy.Field)
}

// labelOf names a field; the value of a header by the header.
func (c *checkForm) labelOf(known *field) string {
	if row, ok := strings.CutSuffix(known.Name, ".value"); ok && c.typed.Get(row+".name") != "" {
		return c.typed.Get(row + ".name")
	}
	return known.Label
}

// copyNumber is what the name of a copy ends with.
var copyNumber = regexp.MustCompile(` \((\d{1,4})\)$`)

// maxCheckName is how many characters the name of a check may have.
const maxCheckName = 200

// freeName returns the name with the first number behind it that no check has.
func (r *request) freeName(name string) (string, error) {
	base := []rune(copyNumber.ReplaceAllString(name, ""))
	base = base[:min(len(base), maxCheckName-len(" (9999)"))]
	taken := make(map[string]bool)
	limit, query := int64(100), string(base)
	var cursor *string
	for range 10 { // of more names than this, the number may repeat, which the API permits
		list, err := r.api.ListChecksWithResponse(r.Context(), &client.ListChecksParams{Limit: &limit, Query: &query, Cursor: cursor})
		if err != nil {
			return "", err
		}
		for i := range list.JSON200.Data {
			taken[list.JSON200.Data[i].Name] = true
		}
		if cursor = list.JSON200.Meta.NextCursor; cursor == nil {
			break
		}
	}
	for n := 2; ; n++ {
		if free := fmt.Sprintf("%s (%d)", strings.TrimSpace(string(base)), n); !taken[free] {
			return free, nil
		}
	}
}
