// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// policies are examples of the three ways to treat a late opening.
func policies() vigil.DeliveryPolicies {
	people := vigil.DeliveryPolicy{MaxAttempts: 6, LateOpening: vigil.LateOpeningMerge, RecoveryAfterFailure: true}
	return vigil.DeliveryPolicies{
		vigil.ChannelWebhook: {MaxAttempts: 12, LateOpening: vigil.LateOpeningDeliver, RecoveryAfterFailure: true},
		vigil.ChannelEmail:   people, vigil.ChannelPush: people, vigil.ChannelChat: people,
		vigil.ChannelPager: {MaxAttempts: 6, LateOpening: vigil.LateOpeningDrop},
	}
}

// TestDeliveryPolicy goes through what each policy makes of each state of an
// opening whose incident has ended.
func TestDeliveryPolicy(t *testing.T) {
	t.Parallel()
	type outcome struct {
		attempt   uuid.UUID
		merged    bool
		supersede []uuid.UUID
	}
	sent, none := outcome{attempt: recovery}, []uuid.UUID(nil)
	merged, dropped := outcome{recovery, true, none}, outcome{uuid.Nil, false, []uuid.UUID{recovery}}
	deliver, merge, drop := vigil.LateOpeningDeliver, vigil.LateOpeningMerge, vigil.LateOpeningDrop
	pendingOpening := map[vigil.LateOpening]outcome{
		deliver: {opening, false, none}, merge: {recovery, true, []uuid.UUID{opening}}, drop: {uuid.Nil, false, []uuid.UUID{opening, recovery}},
	}
	for _, test := range []struct {
		name                 string
		late                 vigil.LateOpening
		recoveryAfterFailure bool
		// What becomes of a pending recovery, by how the opening ended without an attempt.
		superseded, failed outcome
	}{
		{"Deliver", deliver, true, sent, sent},
		{"DeliverButNoRecoveryAfterAFailure", deliver, false, sent, dropped},
		{"Merge", merge, true, merged, merged},
		{"MergeButNoRecoveryAfterAFailure", merge, false, merged, dropped},
		{"Drop", drop, false, dropped, dropped},
		{"DropButRecoveryAfterAFailure", drop, true, dropped, sent},
		{"OneOfANewerVersionMerges", "later", true, merged, merged},
	} {
		policy := vigil.DeliveryPolicy{MaxAttempts: 1, LateOpening: test.late, RecoveryAfterFailure: test.recoveryAfterFailure}
		late, known := pendingOpening[test.late]
		if !known {
			late = pendingOpening[merge]
		}
		for status, want := range map[vigil.DeliveryStatus]outcome{
			vigil.DeliveryPending: late, vigil.DeliveryDelivered: sent, vigil.DeliverySuperseded: test.superseded,
			vigil.DeliveryExhausted: test.failed, vigil.DeliveryCanceled: test.failed,
		} {
			t.Run(test.name+"/"+string(status), func(t *testing.T) {
				t.Parallel()
				got := vigil.DecideDelivery(vigil.Outbox{Usable: true, Ended: true, Deliveries: []vigil.Delivery{
					{ID: opening, EventType: vigil.EventTriggered, Status: status, Policy: policy},
					{ID: recovery, EventType: vigil.EventResolved, Status: vigil.DeliveryPending, Policy: policy},
				}})
				same := got.Attempt == want.attempt && got.Merged == want.merged && slices.Equal(got.Supersede, want.supersede)
				if !same || got.Manual || len(got.Cancel) > 0 {
					t.Errorf("got %+v, want %+v", got, want)
				}
			})
		}
	}
}

func TestDeliveryPolicies(t *testing.T) {
	t.Parallel()

	t.Run("NoPolicyDelaysTheOpeningOfAnOpenIncident", func(t *testing.T) {
		t.Parallel()
		for kind, policy := range policies() {
			got := vigil.DecideDelivery(vigil.Outbox{Usable: true, Deliveries: []vigil.Delivery{
				{ID: opening, EventType: vigil.EventTriggered, Status: vigil.DeliveryPending, Policy: policy},
			}})
			if got.Attempt != opening || got.Merged || len(got.Supersede) > 0 {
				t.Errorf("%s: got %+v", kind, got)
			}
		}
	})

	t.Run("ValidOnesAreComplete", func(t *testing.T) {
		t.Parallel()
		for kind, policy := range policies() {
			if !policy.Valid() {
				t.Errorf("%s: %+v is not valid", kind, policy)
			}
		}
		for _, bad := range []vigil.DeliveryPolicy{
			{}, {MaxAttempts: 1}, {LateOpening: vigil.LateOpeningDrop}, {MaxAttempts: 1, LateOpening: "later"},
		} {
			if bad.Valid() {
				t.Errorf("%+v is valid", bad)
			}
		}
	})

	t.Run("AnUnknownTypeMerges", func(t *testing.T) {
		t.Parallel()
		want := vigil.DeliveryPolicy{MaxAttempts: 6, LateOpening: vigil.LateOpeningMerge, RecoveryAfterFailure: true}
		if got := policies().Of("carrier-pigeon"); got != want {
			t.Errorf("got %+v", got)
		}
	})
}

func channel(kind vigil.ChannelType) vigil.Channel {
	return vigil.Channel{ID: uuid.NewSHA1(uuid.Nil, []byte(kind)), Name: string(kind), Type: kind, Enabled: true}
}

func recipient(c vigil.Channel, opening, recovery bool) vigil.Recipient {
	return vigil.Recipient{
		ChannelID: c.ID, Type: c.Type, Name: c.Name, Opening: opening, Recovery: recovery, Policy: policies().Of(c.Type),
	}
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	webhook, email, pager := channel(vigil.ChannelWebhook), channel(vigil.ChannelEmail), channel(vigil.ChannelPager)
	rule := func(on vigil.NotifyOn, to ...vigil.Channel) vigil.Rule {
		r := vigil.Rule{NotifyOn: on}
		for _, c := range to {
			r.Channels = append(r.Channels, c.ID)
		}
		return r
	}
	all := []vigil.Channel{webhook, email, pager}

	for name, test := range map[string]struct {
		rules    []vigil.Rule
		channels []vigil.Channel
		want     []vigil.Recipient
	}{
		"InTheOrderOfTheRules": {
			[]vigil.Rule{rule(vigil.NotifyUnhealthy, pager, webhook), rule(vigil.NotifyHealthy, email)},
			all,
			[]vigil.Recipient{recipient(pager, true, false), recipient(webhook, true, false), recipient(email, false, true)},
		},
		"OnceWithAllThatItsRulesAskFor": {
			[]vigil.Rule{rule(vigil.NotifyUnhealthy, email), rule(vigil.NotifyHealthy, email)},
			all,
			[]vigil.Recipient{recipient(email, true, true)},
		},
		"WithoutChannelsThatAreGone": {
			[]vigil.Rule{rule(vigil.NotifyBoth, webhook, email)},
			[]vigil.Channel{email},
			[]vigil.Recipient{recipient(email, true, true)},
		},
		"WithoutDisabledChannels": {
			[]vigil.Rule{rule(vigil.NotifyBoth, webhook, email)},
			[]vigil.Channel{{ID: webhook.ID, Type: webhook.Type}, email},
			[]vigil.Recipient{recipient(email, true, true)},
		},
		"NoneWithoutRules": {nil, all, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := vigil.RecipientsOf(test.rules, test.channels, policies()); !slices.Equal(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}

	t.Run("OpeningIsForThoseWhoseRulesAskForIt", func(t *testing.T) {
		t.Parallel()
		given := []vigil.Recipient{recipient(webhook, true, false), recipient(email, false, true), recipient(pager, true, true)}
		if got := vigil.OpeningRecipients(given); !slices.Equal(got, []vigil.Recipient{given[0], given[2]}) {
			t.Errorf("got %+v", got)
		}
		if given[1].ChannelID != email.ID {
			t.Error("the given recipients are changed")
		}
	})
}

func TestRecoveryRecipients(t *testing.T) {
	t.Parallel()
	late := true
	for name, test := range map[string]struct {
		channel vigil.ChannelType
		on      vigil.NotifyOn
		late    bool // its opening is still pending
		want    bool
	}{
		"WhoseRulesAskForBoth":             {vigil.ChannelEmail, vigil.NotifyBoth, !late, true},
		"WhoseRulesAskForRecoveriesOnly":   {vigil.ChannelChat, vigil.NotifyHealthy, !late, true},
		"NotWhoseRulesDoNot":               {vigil.ChannelEmail, vigil.NotifyUnhealthy, !late, false},
		"WhereOneMessageCoversBoth":        {vigil.ChannelEmail, vigil.NotifyUnhealthy, late, true},
		"NotWhereALateOpeningIsDelivered":  {vigil.ChannelWebhook, vigil.NotifyUnhealthy, late, false},
		"ALateOpeningIsDeliveredAndItsEnd": {vigil.ChannelWebhook, vigil.NotifyBoth, late, true},
		"NotWhereALateOpeningIsDropped":    {vigil.ChannelPager, vigil.NotifyUnhealthy, late, false},
		"ALateOpeningMayBeAttempted":       {vigil.ChannelPager, vigil.NotifyBoth, late, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := channel(test.channel).ID
			given := []vigil.Recipient{recipient(channel(test.channel), test.on.Opening(), test.on.Recovery())}
			var pending []uuid.UUID
			if test.late {
				pending = []uuid.UUID{id}
			}
			if got := vigil.RecoveryRecipients(given, pending); (len(got) == 1) != test.want {
				t.Errorf("got %+v", got)
			}
			if given[0].ChannelID != id {
				t.Error("the given recipients are changed")
			}
		})
	}
}
