// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vigil-monitor/vigil"
)

// prompt is a text with which a user starts a task. {argument} is replaced by its value.
type prompt struct {
	name, title, description string
	argument, about, text    string
	// otherwise is the argument when none is given; empty: it must be given.
	otherwise string
}

// prompts lists the prompts.
func prompts() []prompt {
	return []prompt{
		{
			name: "investigate_incident", title: "Investigate an incident", argument: "incident", about: "The id of the incident.",
			description: "Find out why an incident opened and what to do.",
			text: "Investigate the incident {incident}. Read it with get_incident. Look at the results of its check before and after it started " +
				"with get_results, in each region, and at list_changes from two hours before it started. Say in this order: what fails, since when " +
				"and where from; the most likely cause, with the evidence for it; who was notified and whether the messages arrived; " +
				"what to do next. Change nothing.",
		},
		{
			name: "onboard_service", title: "Monitor a service", argument: "url", about: "The URL of the service.",
			description: "Propose the checks, rules and channels for a service.",
			text: "Propose how to monitor {url}. Look for checks of the same host with list_checks, and for channels with list_channels. " +
				"Read describe for the check types that fit, such as https and ssl, and use try_check to see that each config works. " +
				"Then show the checks and rules that you propose, with their intervals, regions and thresholds, and why. " +
				"Save them only after I agree.",
		},
		{
			name: "weekly_report", title: "Report", argument: "period", about: "How far to look back: 24h, 7d, 30d or 90d.", otherwise: "7d",
			description: "Report uptime, incidents and changes of a period.",
			text: "Write a report of the last {period}. Use get_overview, get_uptime with this period for the checks of list_checks, " +
				"list_incidents and list_changes. Start with two sentences for managers. Then: uptime by check, the lowest first, with the " +
				"coverage where it is below 99 %; each incident with its length and cause; deliveries that failed; changes that " +
				"matter. Change nothing.",
		},
		{
			name: "reduce_noise", title: "Reduce noise", argument: "check", about: "The check: its id or its exact name.",
			description: "Find rules of a check that notify too often.",
			text: "Find out whether the rules of the check {check} notify too often. Read the check and its rules with get_check, its " +
				"incidents of the last 30 days with list_incidents, and the failures around them with get_results. Which incidents were over " +
				"before somebody could act? Propose changes of failure_threshold, recovery_threshold, region_policy or thresholds, and compare " +
				"each with the rule that there is by backtest_rules with actual: say which incidents would not have opened, and how much later real " +
				"ones would have. " +
				"Save nothing before I agree.",
		},
	}
}

// maxArgument bounds the value of an argument, in bytes.
const maxArgument = 2048

func addPrompts(server *mcp.Server) {
	for _, p := range prompts() {
		server.AddPrompt(&mcp.Prompt{
			Name: p.name, Title: p.title, Description: p.description,
			Arguments: []*mcp.PromptArgument{{Name: p.argument, Description: p.about, Required: p.otherwise == ""}},
		}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			value := strings.TrimSpace(req.Params.Arguments[p.argument])
			if value == "" {
				value = p.otherwise
			}
			if value == "" || len(value) > maxArgument {
				return nil, vigil.Invalid(p.argument, "must be given, with at most %d characters", maxArgument)
			}
			return &mcp.GetPromptResult{Description: p.description, Messages: []*mcp.PromptMessage{{
				Role: "user", Content: &mcp.TextContent{Text: strings.ReplaceAll(p.text, "{"+p.argument+"}", value)},
			}}}, nil
		})
	}
}
