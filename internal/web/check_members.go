// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"

	"github.com/vigil-monitor/vigil/client"
)

// inputKind is how a member of a config is entered.
type inputKind int

const (
	asText inputKind = iota
	asArea           // text of several lines
	asNumber
	asSecret
	asSecretArea // a secret of several lines
	asSwitch     // true or false
	asDecision   // true, false or left out
	asChoice
	asLines  // a list, one item a line
	asList   // a list in one line: 200, 204, 3xx
	asValue  // a text, a number or a boolean, such as what an assertion compares with
	asPairs  // an object of names and texts, as rows
	asGroup  // an object with members of its own
	asRows   // a list of objects
	asConfig // the config of a step, by its type
)

// Places of a form that a member stands in, as the API names them.
const (
	placeTime    = string(client.CheckMemberGroupTime)    // beside the interval
	placeRequest = string(client.CheckMemberGroupRequest) // what is sent along
	placeExpect  = string(client.CheckMemberGroupExpect)  // what the answer must be like
	placeMore    = string(client.CheckMemberGroupMore)    // what few need
)

// member is a member of a config as the form shows it. Limits and whether it is required
// are not here: the API says what is wrong.
type member struct {
	name, label, help string
	input             inputKind
	place             string
	sample            string   // shown in the empty field
	mono              bool     // what a machine reads
	width             string   // a class of the stylesheet: short, medium or empty
	standard          string   // what an absent member means, where the form shows it
	choices           []option // of asChoice and asDecision
	members           []member // of asGroup and asRows
	add               string   // text of the button that adds a row

	begin       any         // what it is in a new config; nil: nothing
	maskQuery   bool        // parameters of the address may be secret
	maskNames   bool        // values of pairs are secret where their names say so
	maskedWhere string      // member beside it that makes it a secret; empty: none
	types       *checkTypes // of asConfig
}

// memberOfAPI is a member as the API describes it.
func (t *checkTypes) memberOfAPI(m *client.CheckMember) member {
	made := member{
		name: m.Name, label: m.Title, help: orNone(m.Help), place: string(m.Group), sample: orNone(m.Sample), mono: m.Monospace,
		standard: orNone(m.Default), add: orNone(m.Add), maskedWhere: orNone(m.SecretWhen), begin: m.Begin, types: t,
	}
	secret := client.CheckMemberSecret("")
	if m.Secret != nil {
		secret = *m.Secret
	}
	made.maskQuery, made.maskNames = secret == client.CheckMemberSecretQuery, secret == client.CheckMemberSecretNames
	made.input = inputOf(m.Input, secret == client.CheckMemberSecretValue)
	if made.input == asSwitch {
		made.standard = cmp.Or(made.standard, "false")
	}
	if m.Width != nil {
		made.width = string(*m.Width)
	}
	if m.Options != nil {
		for _, each := range *m.Options {
			made.choices = append(made.choices, option{Value: each.Value, Text: each.Title})
		}
	}
	if m.Members != nil {
		made.members = t.membersOfAPI(*m.Members)
	}
	return made
}

func (t *checkTypes) membersOfAPI(all []client.CheckMember) []member {
	made := make([]member, len(all))
	for i := range all {
		made[i] = t.memberOfAPI(&all[i])
	}
	return made
}

func inputOf(input client.CheckMemberInput, secret bool) inputKind {
	switch input {
	case client.CheckMemberInputArea:
		if secret {
			return asSecretArea
		}
		return asArea
	case client.CheckMemberInputNumber:
		return asNumber
	case client.CheckMemberInputSwitch:
		return asSwitch
	case client.CheckMemberInputDecision:
		return asDecision
	case client.CheckMemberInputChoice:
		return asChoice
	case client.CheckMemberInputLines:
		return asLines
	case client.CheckMemberInputList:
		return asList
	case client.CheckMemberInputValue:
		return asValue
	case client.CheckMemberInputPairs:
		return asPairs
	case client.CheckMemberInputGroup:
		return asGroup
	case client.CheckMemberInputRows:
		return asRows
	case client.CheckMemberInputConfig:
		return asConfig
	case client.CheckMemberInputText:
	}
	if secret {
		return asSecret
	}
	return asText
}
