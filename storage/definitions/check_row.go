// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// CheckRow is a check as Postgres stores it: the secrets of its config are sealed,
// and its health is computed from its regions when it is read.
type CheckRow struct {
	bun.BaseModel `bun:"table:checks,alias:c"`

	ID           uuid.UUID       `bun:"id,pk,type:uuid"`
	OrgID        uuid.UUID       `bun:"org_id,type:uuid"`
	Name         string          `bun:"name"`
	Type         string          `bun:"type"`
	Config       json.RawMessage `bun:"config,type:jsonb"`
	Target       string          `bun:"target"`
	IntervalMS   int64           `bun:"interval_ms"`
	Regions      []string        `bun:"regions,array"`
	Enabled      bool            `bun:"enabled"`
	Simultaneous bool            `bun:"simultaneous"`
	Evidence     bool            `bun:"evidence"`
	Labels       vigil.Labels    `bun:"labels,type:jsonb"`
	DrillID      *uuid.UUID      `bun:"drill_id,type:uuid"`
	Anchor       time.Time       `bun:"anchor"`
	Revision     int64           `bun:"revision"`
	Version      int64           `bun:"version"`
	ExpiresAt    *time.Time      `bun:"expires_at"`
	CreatedAt    time.Time       `bun:"created_at"`
	UpdatedAt    time.Time       `bun:"updated_at"`

	retryRow
	ManagedRow

	Health      string     `bun:"health,scanonly"`
	LastChecked *time.Time `bun:"last_checked,scanonly"`
}

// LatestResult joins the health and time of a check's newest result over all regions.
// Among results of the same slot, an unhealthy one wins. The health is unknown when the
// newest result is too old.
func (s *Store) LatestResult() string {
	return `LEFT JOIN LATERAL (
		SELECT ` + loops.ObservedHealth(pg.SQLTime(s.db.Instant())) + ` AS health, r.last_time FROM check_regions AS r
		WHERE r.check_id = c.id AND r.last_slot IS NOT NULL
		ORDER BY r.last_slot DESC, (r.health = 'unhealthy') DESC LIMIT 1
	) AS latest ON true`
}

// HealthOf and LatestHealth are SQL about checks that are joined with LatestResult.
const (
	HealthOf     = "coalesce(latest.health, 'unknown')"
	LatestHealth = HealthOf + " AS health, latest.last_time AS last_checked"
)

// SelectChecks starts a query for whole checks.
func (s *Store) SelectChecks(db bun.IDB, into any) *bun.SelectQuery {
	return db.NewSelect().Model(into).ColumnExpr("c.*").
		ColumnExpr(LatestHealth).
		Join(s.LatestResult())
}

// SealedRow returns the row of a check, with the secrets of its config sealed. A config
// with a NUL character is a CodeInvalid error, since jsonb cannot hold one.
func (s *Store) SealedRow(c *vigil.Check) (*CheckRow, error) {
	if s.Keyring == nil {
		return nil, errors.New("the store has no keys to seal secrets with")
	}
	if containsNUL(c.Config) {
		return nil, errUnstorable()
	}
	sealed, err := s.Keyring.SealSecrets(s.Secrets.Check(c.Type), c.Config)
	if err != nil {
		return nil, fmt.Errorf("seal the config: %w", err)
	}
	return &CheckRow{
		ID: c.ID, OrgID: c.OrgID, Name: c.Name, Type: string(c.Type), Config: sealed, Target: c.Target,
		IntervalMS: pg.Milliseconds(c.Interval), Regions: c.Regions, Enabled: c.Enabled, Simultaneous: c.Simultaneous,
		Evidence: !c.NoEvidence, Labels: storedLabels(c.Labels), DrillID: vigil.NilIfZero(c.DrillID),
		Anchor: c.Anchor, Revision: c.Revision, Version: c.Version, ExpiresAt: c.ExpiresAt, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
		retryRow: retryColumns(c.Retry), ManagedRow: ManagedColumns(c.ManagedBy, c.AppliedVersion),
	}, nil
}

// Opened returns the check of a stored row, with its secrets decrypted.
func (s *Store) Opened(r *CheckRow) (vigil.Check, error) {
	if s.Keyring == nil {
		return vigil.Check{}, errors.New("the store has no keys to open secrets with")
	}
	config, err := s.Keyring.OpenSecrets(s.Secrets.Check(vigil.CheckType(r.Type)), r.Config)
	if err != nil {
		return vigil.Check{}, fmt.Errorf("open the config of check %s: %w", r.ID, err)
	}
	check := vigil.Check{
		ID: r.ID, OrgID: r.OrgID, Name: r.Name, Type: vigil.CheckType(r.Type), Config: config, Target: r.Target,
		Interval: pg.FromMilliseconds(r.IntervalMS), Regions: r.Regions, Enabled: r.Enabled, Simultaneous: r.Simultaneous,
		Retry: r.retry(), NoEvidence: !r.Evidence,
		Labels: LabelsOf(r.Labels), Anchor: r.Anchor, Revision: r.Revision, Version: r.Version,
		Health: vigil.Health(r.Health), LastChecked: r.LastChecked, ExpiresAt: r.ExpiresAt, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		ManagedBy: r.ManagedBy(), AppliedVersion: r.Applied,
	}
	if check.Health == "" {
		check.Health = vigil.Unknown
	}
	if r.DrillID != nil {
		check.DrillID = *r.DrillID
	}
	return check, nil
}

// OpenedChecks returns the checks of rows, in their order.
func (s *Store) OpenedChecks(rows []CheckRow) (checks []vigil.Check, err error) {
	checks = make([]vigil.Check, len(rows))
	for i := range rows {
		if checks[i], err = s.Opened(&rows[i]); err != nil {
			return nil, err
		}
	}
	return checks, nil
}

// SameConfig reports whether two configs have the same members, in any order.
func SameConfig(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	left, errLeft := canonical(a)
	right, errRight := canonical(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

func canonical(raw json.RawMessage) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return json.Marshal(tree)
}

// Unstorable turns the error of Postgres about a value (a NUL character, a number out
// of range) into a CodeInvalid error, because the value came from the caller. Other
// errors pass unchanged.
func Unstorable(err error) error {
	const dataException = "22" // SQLSTATE class 22 of the Postgres manual, appendix A
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && len(refused.Code) == 5 && refused.Code[:2] == dataException {
		return errUnstorable()
	}
	return err
}

func errUnstorable() error {
	return vigil.Invalid("config", "it holds a character or number that cannot be stored.")
}

// containsNUL reports whether a string of a config contains a NUL character. jsonb
// cannot hold one, and bun would silently replace it.
func containsNUL(config json.RawMessage) bool {
	if !bytes.Contains(config, []byte(`\u0000`)) {
		return false
	}
	var tree any
	if json.Unmarshal(config, &tree) != nil {
		return false
	}
	before, errBefore := json.Marshal(tree)
	after, errAfter := json.Marshal(vigil.WithoutNUL(tree))
	return errBefore != nil || errAfter != nil || !bytes.Equal(before, after)
}
