// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"fmt"

	"github.com/blang/semver/v4"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	postgresschema "go.temporal.io/server/schema/postgresql/v12"
	"go.temporal.io/server/tools/common/schema"
	"go.temporal.io/server/tools/sql"
)

// schemaSource is one of the versioned schemas in the server module.
type schemaSource struct{ name, version string }

//nolint:gochecknoglobals // constants, in a language that has none of this type
var (
	storeSchema      = schemaSource{"postgresql/v12/temporal", postgresschema.Version}
	visibilitySchema = schemaSource{"postgresql/v12/visibility", postgresschema.VisibilityVersion}
)

// migrate migrates one database to the schema version of this server. A newer schema
// stays as it is: the server accepts it.
func migrate(db *config.SQL, source schemaSource, logger log.Logger) error {
	conn, err := sql.NewConnection(db, logger)
	if err != nil {
		return fmt.Errorf("the database %q cannot be opened: %w", db.DatabaseName, err)
	}
	defer conn.Close()
	current, err := conn.ReadSchemaVersion()
	if err != nil { // the version tables do not exist yet
		current = "0.0"
		setup := schema.NewSetupSchemaTask(conn, &schema.SetupConfig{InitialVersion: current}, logger)
		if err := setup.Run(); err != nil {
			return fmt.Errorf("initialize the Temporal schema in %q: %w", db.DatabaseName, err)
		}
	}
	if !older(current, source.version) {
		return nil
	}
	update := schema.NewUpdateSchemaTask(conn, &schema.UpdateConfig{
		DBName:        db.DatabaseName,
		SchemaName:    source.name,
		TargetVersion: "v" + source.version,
	}, logger)
	if err := update.Run(); err != nil {
		return fmt.Errorf("migrate the Temporal schema in %q from %s to %s: %w", db.DatabaseName, current, source.version, err)
	}
	return nil
}

func older(version, than string) bool {
	a, errA := semver.ParseTolerant(version)
	b, errB := semver.ParseTolerant(than)
	return errA == nil && errB == nil && a.LT(b)
}
