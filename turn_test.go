// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
)

const turnInterval = 10 * time.Second

// after is an instant some seconds after the one of the decision.
func after(seconds int) time.Time {
	return time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// turnFacts is a calm turn that has covered the first two of its four slots.
func turnFacts() vigil.TurnFacts {
	return vigil.TurnFacts{
		CheckID: uuid.UUID{1}, Region: "eu-central-fra", Interval: turnInterval, Revision: 3, Known: 3,
		Now: after(0), Next: after(10), Latest: after(3600),
		Plan: vigil.TurnPlan{Revision: 3, Span: 4, Slots: 4, Last: after(20)}, Span: 4, Covered: 2,
		Before: vigil.Healthy, Health: vigil.Healthy,
	}
}

// step is what the table wants of a step: the plan only where it changes.
type step struct {
	action vigil.TurnAction
	end    vigil.TurnEnd
	until  time.Time
	held   time.Time
}

func stops(end vigil.TurnEnd) step { return step{action: vigil.TurnStop, end: end} }
func waits(seconds int) step       { return step{action: vigil.TurnContinue, until: after(seconds)} }

func holds(seconds, until int) step {
	return step{vigil.TurnContinue, "", after(seconds), after(until)}
}
func reports(held time.Time) step { return step{action: vigil.TurnReport, held: held} }
func fails(f *vigil.TurnFacts)    { f.Health = vigil.Unhealthy }
func fires(f *vigil.TurnFacts)    { f.Health, f.Fires = vigil.Unhealthy, true }
func burst(f *vigil.TurnFacts)    { fires(f); f.Burst = true }
func held(f *vigil.TurnFacts) {
	f.Before, f.Health, f.Plan.ExtendedTo = vigil.Unhealthy, vigil.Unhealthy, after(30)
}

func first(f *vigil.TurnFacts) {
	f.New, f.Covered, f.Before, f.Plan.Slots, f.Plan.Last = true, 1, "", 1, after(0)
}
func beyondBudget(f *vigil.TurnFacts) { first(f); f.BeyondBudget, f.Most = true, 30 }
func last(f *vigil.TurnFacts)         { f.Covered, f.Plan.Last = 4, after(0) }
func crowd(f *vigil.TurnFacts) {
	last(f)
	f.Crowded, f.Interval, f.Next = true, 6*time.Second, after(6)
}
func away(f *vigil.TurnFacts)          { f.Away = true }
func ahead(f *vigil.TurnFacts)         { f.Ahead, f.Covered = true, 0 }
func newDefinition(f *vigil.TurnFacts) { f.Revision = 4 }
func planned(f *vigil.TurnFacts)       { f.Revision, f.Plan.Revision = 4, 4 } // with a new definition

// TestNextTurnStep has a line for each decision of a turn.
func TestNextTurnStep(t *testing.T) {
	t.Parallel()
	type (
		facts  = vigil.TurnFacts
		change = func(*facts)
	)
	changed, covered, late := stops(vigil.TurnChanged), stops(vigil.TurnCovered), stops(vigil.TurnLate)
	handOver, gone, left := stops(vigil.TurnHandOver), stops(vigil.TurnGone), step{action: vigil.TurnLeave}
	for name, test := range map[string]struct {
		facts []change
		want  step
	}{
		"WaitsForItsNextSlot":           {nil, waits(10)},
		"ProbesASlotThatIsDue":          {[]change{func(f *facts) { f.Next = after(-3) }}, waits(-3)},
		"EndsWithItsLastSlot":           {[]change{last}, covered},
		"EndsLateWhenItHasMissedSlots":  {[]change{last, func(f *facts) { f.Covered = 3 }}, late},
		"EndsWithItsCheck":              {[]change{func(f *facts) { f.Gone, f.Stopping, f.Behind = true, true, true }}, gone},
		"WaitsNoLongerThanItMay":        {[]change{func(f *facts) { f.Covered, f.Next, f.Latest = 0, after(90), after(40) }}, waits(40)},
		"EndsBeforeASlotThatIsFar":      {[]change{func(f *facts) { f.Covered, f.Next, f.Latest = 0, after(90), after(0) }}, covered},
		"EndsLateWithASlotThatWaited":   {[]change{func(f *facts) { f.Covered, f.Next, f.Latest = 0, after(-9), after(0) }}, late},
		"EndsLateWithoutAPlace":         {[]change{func(f *facts) { f.OutOfTime = true }}, late},
		"IsHandedOver":                  {[]change{func(f *facts) { f.Stopping = true }}, handOver},
		"IsLeftToTheOthers":             {[]change{func(f *facts) { f.Stopping, f.Named = true, true }}, left},
		"IsHandedOverWithoutItsLease":   {[]change{func(f *facts) { f.Revoked, f.Named = true, true }}, handOver},
		"IsLeftToWhoAdoptedIt":          {[]change{func(f *facts) { f.Revoked, f.Named, f.Taken = true, true, true }}, left},
		"EndsBehindItsRows":             {[]change{func(f *facts) { f.Behind, f.Covered = true, 0 }}, changed},
		"EndsWithANewDefinition":        {[]change{newDefinition}, changed},
		"KeepsADefinitionThatItBegan":   {[]change{planned}, waits(10)},
		"EndsAdoptedWithANewDefinition": {[]change{newDefinition, func(f *facts) { f.Adopted, f.Covered = true, 0 }}, changed},

		"EndsWithOtherHealth":           {[]change{fails}, changed},
		"EndsWithOtherRules":            {[]change{func(f *facts) { f.Fires = true }}, changed},
		"ReportsInABurst":               {[]change{burst}, reports(after(60))},
		"GoesOnInABurst":                {[]change{burst, func(f *facts) { f.Fires = false }}, holds(10, 60)},
		"IsHeldNoLongerThanItMay":       {[]change{burst, func(f *facts) { f.Latest = after(50) }}, reports(after(50))},
		"EndsInABurstWithoutTime":       {[]change{burst, func(f *facts) { f.Latest = after(0).Add(999 * time.Millisecond) }}, changed},
		"EndsInABurstWhenAdopted":       {[]change{burst, func(f *facts) { f.Adopted = true }}, changed},
		"EndsInABurstWithoutABudget":    {[]change{burst, func(f *facts) { f.EverySlot = true }}, changed},
		"EndsInABurstWithItsFirst":      {[]change{burst, func(f *facts) { f.Before = "" }}, changed},
		"EndsInABurstWithANewOne":       {[]change{burst, planned}, changed},
		"EndsWhenItCannotReport":        {[]change{held, func(f *facts) { f.Fires, f.ReportFailed = true, true }}, changed},
		"IsHeldBeyondItsLastSlot":       {[]change{held, func(f *facts) { f.Plan.Last = after(0) }}, holds(10, 30)},
		"IsHeldWithMoreNews":            {[]change{held, func(f *facts) { f.Before = vigil.Healthy }}, holds(10, 30)},
		"ReportsAllNewsWhileHeld":       {[]change{held, func(f *facts) { f.Fires = true }}, reports(after(30))},
		"WaitsNoLongerThanItIsHeld":     {[]change{held, func(f *facts) { f.Next = after(40) }}, holds(30, 30)},
		"EndsWhenItWasHeldEnough":       {[]change{held, func(f *facts) { f.Now = after(30) }}, changed},
		"IsNotHeldWithANewDefinition":   {[]change{held, newDefinition}, changed},
		"IsHandedOverWhileHeld":         {[]change{held, func(f *facts) { f.Stopping = true }}, handOver},
		"EndsAfterTheFirstResult":       {[]change{first}, changed},
		"EndsAfterTheFirstWithoutSlots": {[]change{beyondBudget, func(f *facts) { f.Most = 1 }}, changed},
		"EndsAfterAFirstFailure":        {[]change{beyondBudget, fails}, changed},
		"EndsAfterAFirstThatFires":      {[]change{beyondBudget, func(f *facts) { f.Fires = true }}, changed},
		"EndsAfterTheFirstOfANewOne":    {[]change{beyondBudget, planned}, changed},
		"EndsAfterARecovery":            {[]change{beyondBudget, func(f *facts) { f.Before = vigil.Unhealthy }}, changed},
		"EndsAdoptedAfterOneResult":     {[]change{beyondBudget, func(f *facts) { f.Adopted, f.Before = true, vigil.Healthy }}, covered},
		"EndsLaterTurnsBeyondBudget":    {[]change{beyondBudget, func(f *facts) { f.New, f.Before = false, vigil.Healthy }}, covered},
		"EndsAfterASecondResult":        {[]change{beyondBudget, func(f *facts) { f.Covered, f.Before = 2, vigil.Healthy }}, covered},
		"ReportsItsFirstBeyondBudget":   {[]change{beyondBudget}, reports(time.Time{})},
		"EndsWhenItsFirstIsNotReported": {[]change{beyondBudget, func(f *facts) { f.ReportFailed = true }}, changed},
		"GoesOnBeyondBudget":            {[]change{beyondBudget, func(f *facts) { f.Reported = true }}, waits(10)},

		"GoesOnInACrowd":                 {[]change{crowd}, waits(6)},
		"EndsInACrowdAfterSixSeconds":    {[]change{crowd, func(f *facts) { f.Next = after(7) }}, covered},
		"EndsInACrowdWithoutTime":        {[]change{crowd, func(f *facts) { f.Latest = after(5) }}, covered},
		"EndsInACrowdWithoutABudget":     {[]change{crowd, func(f *facts) { f.EverySlot = true }}, covered},
		"EndsInACrowdWhenItMissedSlots":  {[]change{crowd, func(f *facts) { f.Covered = 3 }}, late},
		"EndsInACrowdWithNews":           {[]change{crowd, fails}, changed},
		"EndsInACrowdWithANewDefinition": {[]change{crowd, planned}, covered},

		"GoesOnWithoutTemporal":                 {[]change{last, away}, waits(10)},
		"GoesOnWithoutTemporalOrABudget":        {[]change{last, away, func(f *facts) { f.EverySlot = true }}, waits(10)},
		"GoesOnWithoutTemporalWithOtherHealth":  {[]change{fails, away}, waits(10)},
		"GoesOnWithoutTemporalAfterItsFirst":    {[]change{first, away}, waits(10)},
		"EndsWithoutTemporalWhenItsTimeIsOver":  {[]change{last, away, func(f *facts) { f.Latest = after(0) }}, covered},
		"EndsWithoutTemporalWithOtherRules":     {[]change{fires, away}, changed},
		"EndsWithoutTemporalWithANewDefinition": {[]change{away, newDefinition}, changed},
		"IsHandedOverWithoutTemporal":           {[]change{last, away, func(f *facts) { f.Stopping = true }}, handOver},
		"BeginsAhead":                           {[]change{ahead, away}, waits(10)},
		"EndsAheadWhenTemporalMayAnswer":        {[]change{ahead}, covered},
		"ProbesAheadBeforeItTries":              {[]change{ahead, func(f *facts) { f.Next = after(0) }}, waits(0)},
		"EndsAheadWithASlotThatIsDueAgain":      {[]change{ahead, func(f *facts) { f.Covered, f.Next = 1, after(0) }}, covered},
		"EndsAheadWithOtherHealth":              {[]change{ahead, fails, func(f *facts) { f.Covered = 1 }}, changed},
		"EndsAheadBeforeItsLastSlot":            {[]change{ahead, func(f *facts) { f.Covered = 1 }}, covered},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := turnFacts()
			for _, change := range test.facts {
				change(&f)
			}
			if test.want.held.IsZero() && test.want.action != vigil.TurnStop {
				test.want.held = f.Plan.ExtendedTo
			}
			got := vigil.NextTurnStep(f)
			if got.Action != test.want.action || got.End != test.want.end || !got.Until.Equal(test.want.until) ||
				got.Action != vigil.TurnStop && !got.Plan.ExtendedTo.Equal(test.want.held) {
				t.Errorf("the step is %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestTurnPlans tests which slots a turn covers.
func TestTurnPlans(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change   func(*vigil.TurnFacts)
		covered  int // slots that the plan counts already
		span     int
		revision int64
	}{
		"AsManyAsItMay":            {func(*vigil.TurnFacts) {}, 0, 4, 3},
		"OneWithoutABudget":        {func(f *vigil.TurnFacts) { f.EverySlot = true }, 0, 1, 3},
		"OneWithANewDefinition":    {newDefinition, 0, 1, 4},
		"OneWhereNoneIsPlanned":    {func(f *vigil.TurnFacts) { f.Span = 0 }, 0, 1, 3},
		"NoneAfterItsLatestTime":   {func(f *vigil.TurnFacts) { f.Span, f.Latest = 200, after(27) }, 0, 200, 3},
		"OneThatIsAfterIt":         {func(f *vigil.TurnFacts) { f.Span, f.Latest = 200, after(5) }, 0, 200, 3},
		"AsTheBudgetDemandsBeyond": {func(f *vigil.TurnFacts) { beyondBudget(f); f.Reported = true }, 1, 30, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := turnFacts()
			f.Covered = 0
			test.change(&f)
			got := vigil.NextTurnStep(f).Plan
			slots := vigil.TurnSlots(f.CheckID, f.Region, f.Next, f.Interval, test.span)
			if left := int(f.Latest.Sub(f.Next) / f.Interval); left < slots {
				slots = left + 1
			}
			want := vigil.TurnPlan{
				Revision: test.revision, Span: test.span, Slots: test.covered + slots, Last: f.Next.Add(time.Duration(slots-1) * f.Interval),
			}
			if got != want {
				t.Errorf("the plan is %+v, want %+v", got, want)
			}
			if !got.Covers(got.Last) || got.Covers(got.Last.Add(turnInterval)) {
				t.Errorf("%+v covers more or less than its slots", got)
			}
			got.ExtendedTo = got.Last.Add(2 * turnInterval)
			if !got.Covers(got.ExtendedTo) || got.Covers(got.ExtendedTo.Add(time.Second)) {
				t.Errorf("%+v covers more or less than until it is held", got)
			}
		})
	}
}

// TestNextTurnSlots has a line for each number of slots of the next turn.
func TestNextTurnSlots(t *testing.T) {
	t.Parallel()
	const budget, every = vigil.TurnBudget, vigil.TurnEverySlot
	for name, test := range map[string]struct {
		span   vigil.TurnSpan
		slots  int
		reason vigil.TurnReason
	}{
		"Doubles":             {vigil.TurnSpan{End: vigil.TurnCovered, Covers: 4, Within: true, Most: 30, Reason: budget}, 8, vigil.TurnGrowing},
		"UpToTheBudget":       {vigil.TurnSpan{End: vigil.TurnCovered, Covers: 15, Within: true, Most: 30, Reason: budget}, 30, budget},
		"FallsToTheBudget":    {vigil.TurnSpan{End: vigil.TurnCovered, Covers: 60, Within: true, Most: 30, Reason: budget}, 30, budget},
		"BeginsAfterAChange":  {vigil.TurnSpan{End: vigil.TurnChanged, Covers: 15, Within: true, Most: 30, Reason: budget}, 1, vigil.TurnGrowing},
		"IsWideWithoutTokens": {vigil.TurnSpan{End: vigil.TurnChanged, Covers: 1, Most: 30, Reason: budget}, 30, budget},
		"IsOneWithinIt":       {vigil.TurnSpan{End: vigil.TurnChanged, Covers: 4, Within: true, Most: 1, Reason: every}, 1, every},
		"StaysWhenLate":       {vigil.TurnSpan{End: vigil.TurnLate, Covers: 4, Within: true, Most: 30, Reason: budget}, 4, vigil.TurnKept},
		"StaysWhenHandedOver": {vigil.TurnSpan{End: vigil.TurnHandOver, Covers: 4, Most: 30, Reason: budget}, 4, vigil.TurnKept},
		"StaysAsTheBudgetHas": {vigil.TurnSpan{End: vigil.TurnHandOver, Covers: 30, Most: 30, Reason: budget}, 30, budget},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if slots, reason := vigil.NextTurnSlots(test.span); slots != test.slots || reason != test.reason {
				t.Errorf("%d slots, %s; want %d, %s", slots, reason, test.slots, test.reason)
			}
		})
	}
}

// TestTurnOfAnyFacts runs turns with results and loads of any kind to their end.
func TestTurnOfAnyFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for m := newTurnModel(t); !m.ended; {
			m.next(t)
		}
	})
}

// turnModel is a turn that does what is decided. Its probes take no time.
type turnModel struct {
	vigil.TurnFacts

	ended   bool
	planned time.Time // the last slot that it was planned for
	newsAt  time.Time // when it had its first news, with which it went on
	plain   bool      // nothing lets it end later
}

func newTurnModel(t *rapid.T) *turnModel {
	intervals := []time.Duration{time.Second, 4 * time.Second, time.Minute, 20 * time.Minute, 5 * time.Hour}
	latest := []time.Duration{time.Second, 100 * time.Second, time.Hour, 100 * time.Minute}
	slots := rapid.SampledFrom([]int{1, 10, 30})
	m := &turnModel{plain: rapid.Bool().Draw(t, "plain"), TurnFacts: vigil.TurnFacts{
		CheckID: uuid.UUID{
			byte(rapid.IntRange(0, 20).Draw(t, "check")),
		},
		Region:    "eu-central-fra",
		Interval:  rapid.SampledFrom(intervals).Draw(t, "interval"),
		Revision:  3,
		Known:     3,
		Now:       after(0),
		Latest:    after(0).Add(rapid.SampledFrom(latest).Draw(t, "latest")),
		Span:      slots.Draw(t, "span"),
		Most:      slots.Draw(t, "most"),
		EverySlot: seldom(t, "every slot"),
		Before:    vigil.Healthy,
		Health:    vigil.Healthy,
	}}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 6: // the first turn of a check
		m.New, m.Before, m.Health = true, "", ""
	case 7:
		m.New = true
	case 5:
		m.New, m.Adopted = true, true
	}
	m.Next = after(0).Add(m.Interval * time.Duration(rapid.IntRange(-1, 2).Draw(t, "wait")) / 2)
	return m
}

// seldom draws what is seldom so. Rapid draws the ends of a range more often.
func seldom(t *rapid.T, what string) bool { return rapid.IntRange(0, 30).Draw(t, what) == 17 }

// next takes a step and does it.
func (m *turnModel) next(t *rapid.T) {
	if !m.plain {
		m.Burst, m.Crowded, m.BeyondBudget = rapid.Bool().Draw(t, "burst"), rapid.Bool().Draw(t, "crowded"), rapid.Bool().Draw(t, "beyond")
		m.Away, m.Ahead = rapid.Bool().Draw(t, "away"), m.Ahead || m.Covered == 0 && seldom(t, "ahead")
	}
	m.Stopping, m.Named = seldom(t, "stopping"), rapid.Bool().Draw(t, "named")
	got := vigil.NextTurnStep(m.TurnFacts)
	if m.Plan = got.Plan; !m.Plan.ExtendedTo.IsZero() && m.newsAt.IsZero() {
		m.newsAt = m.Now
	}
	m.planned = got.Plan.Last
	if (got.Action == vigil.TurnStop) != (got.End != "") || (got.Action == vigil.TurnContinue) == got.Until.IsZero() {
		t.Fatalf("step %+v", got)
	}
	switch got.Action {
	case vigil.TurnReport:
		if m.Reported = !seldom(t, "not reported"); m.Reported {
			m.Fires = false
		}
		m.ReportFailed = !m.Reported
	case vigil.TurnContinue:
		m.judge(t, got)
		m.goOn(t, got)
	default:
		m.ended = true
	}
}

// judge holds what is true of each step that goes on. So a turn ends: it waits, or covers a slot.
func (m *turnModel) judge(t *rapid.T, got vigil.TurnStep) {
	held := !m.newsAt.IsZero()
	for what, wrong := range map[string]bool{
		"although it must end":              m.Stopping || m.ReportFailed || !m.Now.Before(m.Latest),
		"beyond its latest time":            got.Until.After(m.Latest),
		"without a wait and without a slot": !got.Until.Equal(m.Next) && !got.Until.After(m.Now),
		"without a report of what fires":    m.Covered > 0 && m.Fires,
		"with news":                         m.plain && m.Covered > 0 && m.Health != m.Before,
		"with news for a minute":            held && !m.Now.Before(m.newsAt.Add(time.Minute)),
		"beyond its slots":                  m.plain && m.Covered > 0 && m.Next.After(m.planned),
		"beyond its slots for six seconds":  !held && !m.Away && m.Covered > 0 && m.Next.After(m.planned.Add(6*time.Second)),
		"ahead of a Temporal that answers":  m.Ahead && !m.Away && (m.Covered > 0 || m.Next.After(m.Now)),
	} {
		if wrong {
			t.Fatalf("it goes on %s until %v, with %+v", what, got.Until, m.TurnFacts)
		}
	}
}

// goOn does a step that goes on.
func (m *turnModel) goOn(t *rapid.T, got vigil.TurnStep) {
	m.Before = m.Health
	if got.Until.After(m.Now) {
		m.Now = got.Until
	}
	if seldom(t, "late") {
		m.Now = m.Now.Add(rapid.SampledFrom([]time.Duration{time.Second, m.Interval, 3 * m.Interval}).Draw(t, "by"))
	}
	if m.Next.After(m.Now) {
		return
	}
	m.Covered++
	for !m.Next.After(m.Now) {
		m.Next = m.Next.Add(m.Interval)
	}
	if m.Health = vigil.Healthy; seldom(t, "fails") {
		m.Health = vigil.Unhealthy
	}
	m.Fires = seldom(t, "fires")
}
