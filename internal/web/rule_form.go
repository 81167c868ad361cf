// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// ruleForm is a rule as a sentence whose choices are the controls.
type ruleForm struct {
	*form
	Conditions []ruleCondition
	Channels   []channelChoice
	Regions    bool // the check has several
	NoChannel  bool
	ConditionError, ChannelError,
	ConditionID string
	Try    string            // where the form asks what its rule would have done
	Tried  *ruleTried        // nil until it asked
	stored map[string]string // of the condition that the form began with
}

// recoveryName is the control of a condition's recovery threshold.
const recoveryName = "condition.recovery_threshold"

// ifOpenName is the control for rules that begin to fire while an incident is open.
const ifOpenName = "notify_if_open"

// unobservedName is the control for messages about a check that is not probed.
const unobservedName = "unobserved"

// channelChoice is a channel that can be notified.
type channelChoice struct {
	ID, Name, Type string
	On             bool
	Disabled       bool // messages are not sent to it now
}

// newRuleForm declares the sentence of a rule; known is nil for a new one.
func newRuleForm(r *request, check *client.Check, known *client.AlertRule) (*ruleForm, error) {
	f := &ruleForm{form: newForm(r), Regions: len(check.Regions) > 1, ConditionID: "f-condition"}
	f.Heading = "Not saved yet."
	stored := map[string]string{"failure_threshold": "2"}
	name, severity, policy, notify, enabled, ifOpen, unobserved := "Down", "critical", "majority", "both", true, true, false
	var chosen []string
	if known != nil {
		stored = conditionValues(&known.Condition)
		name, policy, notify, enabled = known.Name, string(known.RegionPolicy), string(known.NotifyOn), known.Enabled
		ifOpen, unobserved = known.NotifyIfOpen, known.Unobserved == client.AlertRuleUnobservedNotify
		chosen = known.NotificationChannelIds
		if stored["severity"] != "" {
			severity = stored["severity"]
		}
	}
	f.add(field{Name: "name", Label: "Name", Value: name, Required: true})
	f.add(field{Name: "region_policy", Label: "Regions", Type: "select", Value: policy, Options: []option{
		{Value: "any", Text: "any region"}, {Value: "majority", Text: "more than half of the regions"}, {Value: "all", Text: "all regions"},
	}})
	f.add(field{Name: "severity", Label: "Severity", Type: "select", Value: severity, Options: []option{
		{Value: "critical", Text: "critical"}, {Value: "warning", Text: "warning"}, {Value: "info", Text: "info"},
	}})
	f.add(field{Name: "notify_on", Label: "Notify", Type: "select", Value: notify, Options: []option{
		{Value: "unhealthy", Text: "when it opens"},
		{Value: "both", Text: "when it opens and when it resolves"},
		{Value: "healthy", Text: "only when it resolves"},
	}, Help: "However it resolves. A rule made here begins with both, one made through the API without notify_on with the opening only."})
	recovery := stored["recovery_threshold"]
	if recovery == "" {
		recovery = "1"
	}
	f.add(field{Name: recoveryName, Label: "Results in a row to resolve", Value: recovery, Mode: "numeric", Autofill: "off"})
	f.stored = stored
	f.add(field{
		Name: ifOpenName, Label: "Notify also when it begins to fire while an incident of the check is open", Type: "checkbox", Checked: ifOpen,
		Help: "Only channels that have had no message of that incident are notified. A rule made here begins with this, " +
			"one made through the API without notify_if_open does not.",
	})
	f.add(field{
		Name: unobservedName, Label: "Notify also when the check is not probed", Type: "checkbox", Checked: unobserved,
		Help: "When the regions above have had no result for three intervals, as happens when a region has no worker. " +
			"Its channels are notified of the end as well. No incident opens.",
	})
	f.add(field{Name: "enabled", Label: "The rule is on", Type: "checkbox", Checked: enabled})
	types, err := r.checkTypes()
	if err != nil {
		return nil, err
	}
	f.declareConditions(string(check.Type), types, stored)
	return f, f.declareChannels(r, chosen)
}

// declareConditions adds the ways to fire that the type of the check has, and those that the
// stored rule has beyond them.
func (f *ruleForm) declareConditions(checkType string, types *checkTypes, stored map[string]string) {
	for _, c := range ruleConditions() {
		if !c.fits(types.named(checkType)) && stored[c.Key] == "" {
			continue
		}
		if f.values != nil {
			c.On = slices.Contains(f.values["when"], c.Key)
			if f.values.Has("condition." + c.Key) {
				c.Value = f.values.Get("condition." + c.Key)
			}
		} else if value := stored[c.Key]; value != "" {
			c.On, c.Value = true, value
		}
		f.fillParts(&c, stored)
		for i := range c.Options {
			c.Options[i].Chosen = c.Options[i].Value == c.Value || c.Options[i].Value == "up" && c.Value == "healthy"
		}
		f.Conditions = append(f.Conditions, c)
	}
}

// fillParts fills in the numbers of a condition that has several.
func (f *ruleForm) fillParts(c *ruleCondition, stored map[string]string) {
	for i := range c.Parts {
		part := &c.Parts[i]
		key := c.Key + "." + part.Key
		if f.values != nil && f.values.Has("condition."+key) {
			part.Value = f.values.Get("condition." + key)
		} else if f.values == nil && stored[key] != "" {
			part.Value = stored[key]
		}
	}
}

func (f *ruleForm) declareChannels(r *request, chosen []string) error {
	limit := int64(100)
	list, err := r.api.ListNotificationChannelsWithResponse(r.Context(), &client.ListNotificationChannelsParams{Limit: &limit})
	if err != nil {
		return err
	}
	if f.values != nil {
		chosen = f.values["notification_channel_ids"]
	}
	for k := range list.JSON200.Data {
		c := &list.JSON200.Data[k]
		id := c.Id.String()
		f.Channels = append(f.Channels, channelChoice{
			ID: id, Name: c.Name, Type: string(c.Type), Disabled: !c.Enabled,
			On: slices.Contains(chosen, id) || f.values == nil && chosen == nil && len(list.JSON200.Data) == 1,
		})
	}
	f.NoChannel = len(f.Channels) == 0
	return nil
}

// refused puts the API's messages under the sentence's controls.
func (f *ruleForm) refused(err error) bool {
	condition := f.add(field{Name: "condition", Label: "When it fires"})
	channels := f.add(field{Name: "notification_channel_ids", Label: "Channels"})
	if known, ok := errors.AsType[*APIError](err); ok {
		plain := *known
		plain.Message = withoutForms(known.Message)
		err = &plain
	}
	if !f.form.refused(err) {
		return false
	}
	f.ConditionError, f.ChannelError = condition.Error, channels.Error
	return true
}

// condition is that of the rule, as the API takes it.
func (f *ruleForm) condition() map[string]any {
	condition := map[string]any{"severity": f.get("severity")}
	for _, c := range f.Conditions {
		if c.On {
			condition[c.Key] = c.value()
		}
	}
	if text := strings.TrimSpace(f.get(recoveryName)); text != "" && (text != "1" || f.stored["recovery_threshold"] != "") {
		condition["recovery_threshold"] = numberOr(text)
	}
	return condition
}

// json is the body of a request that writes the rule.
func (f *ruleForm) json() (string, error) {
	channels := f.values["notification_channel_ids"]
	if channels == nil {
		channels = []string{}
	}
	body := map[string]any{
		"name": f.get("name"), "condition": f.condition(), "notification_channel_ids": channels,
		"notify_on": f.get("notify_on"), ifOpenName: f.values.Has(ifOpenName), "enabled": f.values.Has("enabled"),
		unobservedName: unobservedOf(f.values.Has(unobservedName)),
	}
	if policy := f.get("region_policy"); policy != "" {
		body["region_policy"] = policy
	}
	raw, err := json.Marshal(body)
	return string(raw), err
}

func unobservedOf(notify bool) client.AlertRuleUnobserved {
	if notify {
		return client.AlertRuleUnobservedNotify
	}
	return client.AlertRuleUnobservedIgnore
}

// numberOr is the number that a text says, or the text.
func numberOr(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

// Plain is the form without the sentence, for the summary of errors.
func (f *ruleForm) Plain() *form { return f.form }
