// SPDX-License-Identifier: Apache-2.0

package exam

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/vigil-monitor/vigil/internal/doctor"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/storage"
)

// judgeDatabaseRights looks at what the user of a Postgres of its own may do.
func (e *Exam) judgeDatabaseRights(ctx context.Context) []doctor.Finding {
	if e.Settings.DatabaseURL == "" {
		return nil
	}
	var role storage.Role
	err := e.WithStore(ctx, func(store *storage.Store) (err error) {
		role, err = store.Role(ctx)
		return err
	})
	if err != nil {
		return nil // the finding about Postgres says so
	}
	found := []doctor.Finding{doctor.DatabaseRights{
		User: role.Name, Superuser: role.Superuser, Migrates: role.Migrates, Tables: role.Tables, Closed: role.Closed,
	}.Judge()}
	if !role.CertificateEnds.IsZero() {
		found = append(found, doctor.Credential{
			Part: "database certificate", Whose: role.Name, Ends: role.CertificateEnds, InFile: true,
		}.Judge(e.Now()))
	}
	return found
}

// judgeTemporalRights looks at what this process shows to a Temporal of its own. Whether the token is signed by a key that
// Temporal knows is for Temporal to say.
func (e *Exam) judgeTemporalRights(context.Context) []doctor.Finding {
	if e.Settings.TemporalAddress == "" {
		return nil
	}
	token, err := platform.TemporalToken(&e.Settings)
	if err != nil {
		return nil // the finding about Temporal says so
	}
	var found []doctor.Finding
	if claims, ok := claimsOf(token); ok {
		claims.InFile = e.Settings.TemporalTokenFile != ""
		found = append(found, claims.Judge(e.Now()))
	}
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err != nil {
		return found
	}
	if options, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{}); err == nil && options.ConnectionOptions.TLS != nil {
		for _, shown := range options.ConnectionOptions.TLS.Certificates {
			if leaf, err := x509.ParseCertificate(shown.Certificate[0]); err == nil {
				found = append(found, doctor.Credential{
					Part: "temporal certificate", Whose: leaf.Subject.CommonName, Ends: leaf.NotAfter,
					InFile: profile.TLS != nil && profile.TLS.ClientCertPath != "",
				}.Judge(e.Now()))
			}
		}
	}
	return found
}

// claimsOf reads a JSON Web Token (RFC 7519) without judging its signature; ok is false for another kind of key.
func claimsOf(token string) (known doctor.Credential, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return doctor.Credential{}, false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return doctor.Credential{}, false
	}
	// Only exp has one form everywhere; what permissions look like is a setting of Temporal.
	var claims map[string]json.RawMessage
	if json.Unmarshal(text, &claims) != nil {
		return doctor.Credential{}, false
	}
	known = doctor.Credential{Part: "temporal token"}
	var permissions []string
	if json.Unmarshal(claims["permissions"], &permissions) == nil {
		known.May = strings.Join(permissions, " ")
	}
	_ = json.Unmarshal(claims["sub"], &known.Whose) // without one it is not shown
	var ends float64                                // seconds since 1970, which may have a fraction
	if json.Unmarshal(claims["exp"], &ends) == nil {
		known.Ends = time.Unix(int64(ends), 0)
	}
	return known, true
}
