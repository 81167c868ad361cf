// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/listing"
)

const resourceDrill = "drill"

// drillStore keeps drills.
type drillStore interface {
	CreateDrill(ctx context.Context, d drills.Drill, region string) (drills.Drill, error)
	Drill(ctx context.Context, orgID, id uuid.UUID) (drills.Drill, error)
	Drills(ctx context.Context, orgID uuid.UUID, f drills.Filter) ([]drills.Drill, listing.Extent, error)
	CancelDrill(ctx context.Context, orgID, id uuid.UUID) (drills.Drill, error)
}

type drillResource struct {
	store    drillStore
	notifier *resource.Notifier
	plans    resource.Plans
}

// drillView is a drill.
type drillView struct {
	ID          uuid.UUID          `json:"id" format:"uuid"`
	State       drills.State       `json:"state" enum:"asked,failing,recovering,closed" doc:"asked: stored. failing: its check fails. recovering: its check is healthy again. closed: it has a receipt."`
	Verdict     *string            `json:"verdict" enum:"passed,failed,canceled" doc:"passed: every channel has received both messages in time; null while it runs."`
	Channels    []drillChannelView `json:"channels" doc:"The channels that must receive the messages."`
	Regions     []string           `json:"regions" doc:"Where its check runs."`
	Severity    vigil.Severity     `json:"severity" enum:"critical,warning,info"`
	Expect      int64              `json:"expect_within_seconds" doc:"How long the way to every channel may take, of the opening and of its end each."`
	RequestedBy *string            `json:"requested_by" doc:"Who asked for it."`
	AskedAt     time.Time          `json:"asked_at"`
	ClosedAt    *time.Time         `json:"closed_at" doc:"Null while it runs."`
	Receipt     *drillReceiptView  `json:"receipt" doc:"What it has shown; null while it runs. It never changes afterwards."`
	Signed      *string            `json:"signed_receipt" doc:"The receipt as a JSON Web Signature in the compact form of RFC 7515, whose payload is the receipt; the public key is at /.well-known/vigil-keys. Null while it runs, and where the platform has no key."`
	WorkflowID  string             `json:"workflow_id" doc:"The workflow that leads it."`
}

type drillChannelView struct {
	ID   uuid.UUID         `json:"id" format:"uuid"`
	Name string            `json:"name" doc:"As it was when the drill was asked for."`
	Type vigil.ChannelType `json:"type" enum:"email,webhook,push,chat,pager"`
	// Subscriptions is left out for a drill that names none.
	Subscriptions []drillSubscriptionView `json:"subscriptions,omitempty" doc:"The subscriptions of the drill that the channel receives it by; absent without one."`
}

type drillSubscriptionView struct {
	ID   uuid.UUID `json:"id" format:"uuid"`
	Name string    `json:"name" doc:"As it was when the drill was asked for."`
}

func showDrillSubscriptions(list []drills.Subscription) []drillSubscriptionView {
	var views []drillSubscriptionView
	for _, s := range list {
		views = append(views, drillSubscriptionView(s))
	}
	return views
}

// drillReceiptView is the receipt of a drill.
type drillReceiptView struct {
	DrillID          uuid.UUID            `json:"drill_id" format:"uuid"`
	OrganizationID   uuid.UUID            `json:"organization_id" format:"uuid"`
	OrganizationName string               `json:"organization_name"`
	Verdict          drills.Verdict       `json:"verdict" enum:"passed,failed,canceled"`
	RequestedBy      string               `json:"requested_by"`
	AskedAt          time.Time            `json:"asked_at"`
	EndedAt          time.Time            `json:"ended_at"`
	Expect           int64                `json:"expect_within_seconds"`
	Severity         vigil.Severity       `json:"severity" enum:"critical,warning,info"`
	Regions          []string             `json:"regions"`
	Hops             []drillHopView       `json:"hops" doc:"The hops that were passed, in their order: asked, stored, loop_started, slot, probed, voted, opened, first_attempt, delivered, fallback_delivered, redefined, vote_withdrawn, resolved, recovery_delivered, recovery_fallback_delivered."`
	Channels         []drillDeliveredView `json:"channels"`
	Failures         []drillFailureView   `json:"failures" doc:"The hops that are missing or were late; empty for a drill that passed."`
	Version          string               `json:"version" doc:"Version of the platform."`
}

type drillHopView struct {
	Name drills.Hop `json:"name" enum:"asked,stored,loop_started,slot,probed,voted,opened,first_attempt,delivered,fallback_delivered,redefined,vote_withdrawn,resolved,recovery_delivered,recovery_fallback_delivered"`
	At   time.Time  `json:"at"`
	MS   int64      `json:"ms_since_previous" minimum:"0" doc:"Milliseconds since the hop before it; 0 where clocks of several machines say less."`
}

type drillDeliveredView struct {
	ID   uuid.UUID         `json:"id" format:"uuid"`
	Name string            `json:"name" doc:"As it was when the drill was asked for."`
	Type vigil.ChannelType `json:"type" enum:"email,webhook,push,chat,pager"`
	// Subscriptions and FallbackFor are left out where there are none, as in the signed receipt.
	Subscriptions []drillSubscriptionView `json:"subscriptions,omitempty" doc:"The subscriptions of the drill that the channel receives it by; absent without one."`
	FallbackFor   *uuid.UUID              `json:"fallback_for_channel_id,omitempty" format:"uuid" doc:"The channel in whose place this one got the messages; absent for a channel of the drill."`

	Opening  *drillMessageView `json:"opening" doc:"The message about the opening; null when none was made."`
	Recovery *drillMessageView `json:"recovery" doc:"The message about the end; null when none was made."`
}

type drillMessageView struct {
	Status         vigil.DeliveryStatus `json:"status" enum:"pending,delivered,exhausted,superseded,canceled"`
	Attempts       int                  `json:"attempts" minimum:"0"`
	StatusCode     *int                 `json:"status_code" doc:"Status of the last answer; null when there was none."`
	Error          *string              `json:"error" doc:"Why the last attempt failed; null when it did not."`
	FirstAttemptAt *time.Time           `json:"first_attempt_at" doc:"Null when none was made."`
	DeliveredAt    *time.Time           `json:"delivered_at" doc:"Null when it did not arrive."`
}

type drillFailureView struct {
	Hop       drills.Hop `json:"hop" enum:"asked,stored,loop_started,slot,probed,voted,opened,first_attempt,delivered,fallback_delivered,redefined,vote_withdrawn,resolved,recovery_delivered,recovery_fallback_delivered"`
	Reason    string     `json:"reason" doc:"Why, for a person."`
	Region    *string    `json:"region,omitempty" doc:"The region of the hop; absent where it has none."`
	ChannelID *uuid.UUID `json:"channel_id,omitempty" format:"uuid" doc:"The channel of the hop; absent where it has none."`
}

func showDrill(d drills.Drill) drillView {
	view := drillView{
		ID: d.ID, State: d.State, Channels: make([]drillChannelView, len(d.Channels)), Regions: append([]string{}, d.Regions...),
		Severity: vigil.Info, Expect: int64(d.Request.ExpectWithin / time.Second), RequestedBy: vigil.NilIfZero(d.RequestedBy),
		AskedAt: d.AskedAt.UTC(), ClosedAt: resource.InUTC(d.ClosedAt),
		Signed: vigil.NilIfZero(d.Signature), WorkflowID: drills.WorkflowID(d.ID),
	}
	for i, c := range d.Channels {
		view.Channels[i] = drillChannelView{ID: c.ID, Name: c.Name, Type: c.Type, Subscriptions: showDrillSubscriptions(c.Subscriptions)}
	}
	if len(d.Rules) > 0 {
		view.Severity = d.Rules[0].Severity()
	}
	if r := d.Receipt; r != nil {
		view.Verdict, view.Receipt = new(string(r.Verdict)), showReceipt(r)
	}
	return view
}

func showReceipt(r *drills.Receipt) *drillReceiptView {
	view := &drillReceiptView{
		DrillID: r.DrillID, OrganizationID: r.OrganizationID, OrganizationName: r.OrganizationName, Verdict: r.Verdict,
		RequestedBy: r.RequestedBy, AskedAt: r.AskedAt, EndedAt: r.EndedAt, Expect: r.ExpectWithinSeconds, Severity: r.Severity,
		Regions: r.Regions, Hops: make([]drillHopView, len(r.Hops)), Channels: make([]drillDeliveredView, len(r.Channels)),
		Failures: make([]drillFailureView, len(r.Failures)), Version: r.Version,
	}
	for i, h := range r.Hops {
		view.Hops[i] = drillHopView{Name: h.Name, At: h.At, MS: h.MSSincePrevious}
	}
	for i, c := range r.Channels {
		view.Channels[i] = drillDeliveredView{
			ID: c.ID, Name: c.Name, Type: c.Type, Subscriptions: showDrillSubscriptions(c.Subscriptions),
			FallbackFor: vigil.NilIfZero(c.FallbackFor), Opening: (*drillMessageView)(c.Opening), Recovery: (*drillMessageView)(c.Recovery),
		}
	}
	for i, f := range r.Failures {
		view.Failures[i] = drillFailureView{
			Hop: f.Hop, Reason: f.Reason, Region: vigil.NilIfZero(f.Region), ChannelID: vigil.NilIfZero(f.ChannelID),
		}
	}
	return view
}

func (d *drillResource) Register(r *rest.Registrar) {
	const list, one = "/v1/drills", "/v1/drills/{id}"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: list, ID: "list-drills", Tag: resource.TagDrills, Summary: "List the drills, newest first",
	}, d.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: list, ID: "create-drill", Tag: resource.TagDrills, Scope: account.ScopeWrite,
		Audit: "drill.create", Status: http.StatusAccepted, Idempotent: true, Summary: "Prove that alerts arrive",
		Description: "A check of the drill's own fails, as a real one does, in the regions that are named: its result is stored, an " +
			"incident opens, and the channels are notified. Then it is healthy again, the incident ends, and they are notified of that. " +
			"Every message says that it is a drill: its title begins with [DRILL], the envelope has `data.drill`, and a webhook gets the " +
			"header X-Service-Drill. Nothing of a drill is in a list, in uptime, in usage or in any other figure. The receipt lists each " +
			"hop with its time, and names those that are missing or were late. A channel that refuses a message for good has its " +
			"fallback notified, which is a hop of its own. Exactly one of channel_ids, rule_ids, subscription_ids and check_id is given. " +
			"While a drill of one of the channels runs, the answer is 409.",
		Errors: []int{http.StatusForbidden, http.StatusConflict},
	}, d.create)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: one, ID: "get-drill", Tag: resource.TagDrills, Resource: resourceDrill,
		Summary: "Get a drill with its receipt",
	}, d.get)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: one + "/cancel", ID: "cancel-drill", Tag: resource.TagDrills, Scope: account.ScopeWrite,
		Audit: "drill.cancel", Resource: resourceDrill, Summary: "Cancel a drill",
		Description: "Its check is made healthy, so that those who were notified of the opening are notified of the end, and its verdict is " +
			"canceled. A drill that has ended is a conflict.",
		Errors: []int{http.StatusConflict},
	}, d.cancel)
}

// drillBody asks for a drill.
type drillBody struct {
	ChannelIDs      []string       `json:"channel_ids,omitempty" minItems:"1" maxItems:"50" doc:"Channels to notify, by a rule of the drill's own."`
	RuleIDs         []string       `json:"rule_ids,omitempty" minItems:"1" maxItems:"50" doc:"Alert rules whose channels, region policies and ways to notify are tried."`
	SubscriptionIDs []string       `json:"subscription_ids,omitempty" minItems:"1" maxItems:"50" doc:"Subscriptions whose channels are notified, without a look at what they select."`
	CheckID         string         `json:"check_id,omitempty" format:"uuid" doc:"Check whose enabled rules are tried."`
	Regions         []string       `json:"regions,omitempty" minItems:"1" maxItems:"33" doc:"Keys or aliases of the regions in which the drill runs. Default: those of the check that the rules belong to, else the default region."`
	Severity        vigil.Severity `json:"severity,omitempty" enum:"critical,warning,info" default:"info" doc:"Severity of the incident."`
	Expect          rest.Integer   `json:"expect_within_seconds,omitempty" minimum:"10" maximum:"600" default:"120" doc:"How long the way to every channel may take, of the opening and of its end each."`
	Pager           bool           `json:"confirm_pager,omitempty" doc:"Must be true when a pager channel is notified: it wakes people."`
}

// request reads what is asked for.
func (b *drillBody) request(plan account.Plan) (drills.Request, error) {
	request := drills.Request{
		Severity: b.Severity, ExpectWithin: time.Duration(b.Expect) * time.Second, ConfirmPager: b.Pager,
	}
	if request.ExpectWithin == 0 {
		request.ExpectWithin = drills.DefaultExpect
	}
	given := 0
	for _, is := range []bool{len(b.ChannelIDs) > 0, len(b.RuleIDs) > 0, len(b.SubscriptionIDs) > 0, b.CheckID != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return request, vigil.Invalid("channel_ids", "exactly one of channel_ids, rule_ids, subscription_ids and check_id must be given")
	}
	var err error
	if request.ChannelIDs, err = drillIDs("channel_ids", b.ChannelIDs); err != nil {
		return request, err
	}
	if request.RuleIDs, err = drillIDs("rule_ids", b.RuleIDs); err != nil {
		return request, err
	}
	if request.SubscriptionIDs, err = drillIDs("subscription_ids", b.SubscriptionIDs); err != nil {
		return request, err
	}
	if request.CheckID, err = resource.FilterID("check_id", b.CheckID); err != nil || len(b.Regions) == 0 {
		return request, err
	}
	request.Regions, err = checks.RegionsOf(b.Regions, plan)
	return request, err
}

// drillIDs reads the ids of a member, each once.
func drillIDs(member string, texts []string) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	for i, text := range texts {
		id, err := rest.ParseID(text, "")
		if err != nil {
			return nil, vigil.Invalid(fmt.Sprintf("%s[%d]", member, i), "must be a UUID")
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (d *drillResource) create(ctx context.Context, in *struct{ Body drillBody }) (*rest.Answer[drillView], error) {
	who := rest.CallerOf(ctx)
	request, err := in.Body.request(d.plans.Of(who))
	if err != nil {
		return nil, err
	}
	drill := drills.Drill{OrgID: who.Org.ID, Request: request, RequestedBy: who.User.Email}
	if drill.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	rest.AuditResource(ctx, drill.ID)
	rest.ShowRepeated(ctx, showDrill)
	region, _ := vigil.RegionByKey(vigil.DefaultRegionAlias)
	if drill, err = d.store.CreateDrill(ctx, drill, region.Key); err != nil {
		return nil, err
	}
	d.notifier.StartDrill(ctx, drill.OrgID, drill.ID)
	return rest.NewAnswer(showDrill(drill)), nil
}

type listDrillsInput struct {
	rest.ListQuery

	Verdict drills.Verdict `query:"verdict" enum:"passed,failed,canceled" doc:"Drills that ended so."`
}

func (d *drillResource) list(ctx context.Context, in *listDrillsInput) (*rest.Listing[drillView], error) {
	page, cursor, err := in.Open(rest.MaxPage, "drills", string(in.Verdict))
	if err != nil {
		return nil, err
	}
	filter := drills.Filter{Verdict: in.Verdict, Page: page}
	rows, extent, err := d.store.Drills(ctx, rest.CallerOf(ctx).Org.ID, filter)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, showDrill), nil
}

func (d *drillResource) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[drillView], error) {
	id, err := in.Parse(resourceDrill)
	if err != nil {
		return nil, err
	}
	drill, err := d.store.Drill(ctx, rest.CallerOf(ctx).Org.ID, id)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showDrill(drill)), nil
}

func (d *drillResource) cancel(ctx context.Context, in *rest.IDPath) (*rest.Answer[drillView], error) {
	id, err := in.Parse(resourceDrill)
	if err != nil {
		return nil, err
	}
	drill, err := d.store.CancelDrill(ctx, rest.CallerOf(ctx).Org.ID, id)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showDrill(drill)), nil
}
