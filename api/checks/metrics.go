// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/overview"
)

const (
	// metricsChecks is how many checks an answer has at most, the oldest first.
	metricsChecks = 20_000
	// metricsLabels is how many labels of checks an answer may have.
	metricsLabels = 10
	// metricsAtOnce is how many answers of an organization may be under way in a process:
	// each holds its checks in memory.
	metricsAtOnce = 2
	metricsPause  = 5 // seconds
	metricsBusy   = "Two requests of the organization for metrics are under way"
	// metricsDeadline bounds reading the checks.
	metricsDeadline = 30 * time.Second
	// metricsType is the Prometheus text format.
	metricsType = "text/plain; version=0.0.4; charset=utf-8"
)

// figureStore reads what monitoring systems read of checks.
type figureStore interface {
	// CheckFigures returns the oldest checks of an organization with the values of labels.
	CheckFigures(ctx context.Context, orgID uuid.UUID, labels []string, limit int) ([]overview.CheckFigures, error)
}

// NewScrapes returns the bound of answers of /v1/metrics, of one process.
func NewScrapes() *resource.AtOnce {
	return resource.NewAtOnce(metricsAtOnce, metricsBusy, metricsPause)
}

// checkMetrics shows the checks of an organization to Prometheus.
type checkMetrics struct {
	store figureStore
	usage usageStore
	plans resource.Plans
	limit *resource.AtOnce
}

func (m *checkMetrics) Register(r *rest.Registrar) {
	const path = "/v1/metrics"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: path, ID: "get-metrics", Tag: resource.TagAccount,
		Summary: "Get the checks as metrics for Prometheus",
		Description: "The text format of Prometheus. vigil_check_up and the other series of a region are those of its newest result: a check " +
			"that is disabled, and a region without a result, has none. Series have the labels check (id), name and type, those of a region " +
			"region too, and label_* for the labels that are asked for. At most " + strconv.Itoa(metricsChecks) + " checks are shown, the oldest " +
			"first; vigil_checks_omitted says how many are not. Two requests of an organization may be under way.",
		Errors: []int{http.StatusTooManyRequests},
	}, m.get)
	rest.OperationAt(r.Document(), http.MethodGet, path).Responses["200"].Content = map[string]*huma.MediaType{
		"text/plain": {Schema: &huma.Schema{Type: huma.TypeString, Description: "The text format of Prometheus, version 0.0.4."}},
	}
}

type metricsInput struct {
	Labels string `query:"labels" maxLength:"700" doc:"Keys of labels of checks to show as label_*, separated by commas, at most 10. Other characters than a-z, 0-9 and _ become _. A label without a value is left out." example:"env,team"`
}

// keys returns the labels to show, with the names that they have in Prometheus.
func (in *metricsInput) keys() (keys, names []string, err error) {
	if in.Labels == "" {
		return nil, nil, nil
	}
	keys = strings.Split(in.Labels, ",")
	if len(keys) > metricsLabels {
		return nil, nil, vigil.Invalid("labels", "must have at most %d keys", metricsLabels)
	}
	used := make(map[string]string, len(keys))
	for _, key := range keys {
		if err := (vigil.Labels{key: ""}).Validate(); err != nil {
			return nil, nil, vigil.Invalid("labels", "must be keys of labels, separated by commas")
		}
		name := "label_" + strings.Map(labelCharacter, key)
		if other, ok := used[name]; ok {
			return nil, nil, vigil.Invalid("labels", "has %s and %s, which both become %s", other, key, name)
		}
		used[name] = key
		names = append(names, name)
	}
	return keys, names, nil
}

// labelCharacter replaces what no name of a label in Prometheus may have.
func labelCharacter(r rune) rune {
	if strings.ContainsRune("./-", r) {
		return '_'
	}
	return r
}

func (m *checkMetrics) get(ctx context.Context, in *metricsInput) (*huma.StreamResponse, error) {
	keys, names, err := in.keys()
	if err != nil {
		return nil, err
	}
	who := rest.CallerOf(ctx)
	done, err := m.limit.Begin(who.Org.ID)
	if err != nil {
		return nil, err
	}
	out, err := m.read(ctx, who, keys)
	if err != nil {
		done()
		return nil, err
	}
	out.names = names
	return &huma.StreamResponse{Body: func(to huma.Context) {
		defer done()
		to.SetHeader("Content-Type", metricsType)
		to.SetHeader("Cache-Control", "no-store")
		buffer := bufio.NewWriterSize(to.BodyWriter(), 32<<10)
		out.write(buffer)
		_ = buffer.Flush() // the client went away
	}}, nil
}

// read reads everything before the first byte is written, so that a slow client holds no
// connection of the database.
func (m *checkMetrics) read(ctx context.Context, who *rest.Caller, keys []string) (*exposition, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsDeadline)
	defer cancel()
	checks, err := m.store.CheckFigures(ctx, who.Org.ID, keys, metricsChecks)
	if err != nil {
		return nil, err
	}
	used, err := m.usage.Usage(ctx, who.Org.ID)
	if err != nil {
		return nil, err
	}
	out := &exposition{checks: checks, total: used.Counts[account.LimitChecks], used: used.ExecutionsPerHour}
	if limit := m.plans.Of(who).ExecutionsPerHour; limit != account.Unlimited {
		out.limit = &limit
	}
	return out, nil
}
