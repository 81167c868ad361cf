// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// accountsStore is what accounts need of the database.
type accountsStore interface {
	credentialStore
	accountStore
	loginStore
	verificationStore
	recoveryStore
	recipientStore
	tokenStore
	auditStore
	memberStore
	organizationStore
	sessionStore
	loginLinkStore
	keyStore
}

// accountDeps is what accounts need beside their store.
type accountDeps struct {
	Mailer mailer // nil sends no mail
	// Background does what a request leaves running behind it, Mails sends.
	Background, Mails *tasks
	// Addresses counts the requests of an address that need no credential.
	Addresses *rest.RateWindow
	// PrivateTargets says whether private addresses can be checked; nil where they cannot.
	PrivateTargets rest.PrivateTargets
	Now            func() time.Time

	// PublicURL is where people reach this API, without a trailing slash.
	PublicURL string
	// SignupTier is the tier of new organizations.
	SignupTier account.Tier
	// SigningKey signs session tokens; OlderSigningKeys are still accepted.
	SigningKey       []byte
	OlderSigningKeys [][]byte
	// UnverifiedPerAddress and UnverifiedTotal are how many organizations that are not
	// verified may have been made from one address, and in all, within account.SignupWindow;
	// 0 for any number.
	UnverifiedPerAddress, UnverifiedTotal int
}

// accountService is the part of the API about accounts: its operations, its pages, and how a
// request proves whose it is.
type accountService struct {
	// Auth knows whose a credential is.
	Auth *authenticator
	// Pages shows what links of mails lead to.
	Pages *pages

	operations []operations
	passwords  *passwords
	loginLinks loginLinkStore
	addresses  *rest.RateWindow
}

// newAccountService returns the part of the API about accounts.
func newAccountService(store accountsStore, d accountDeps) *accountService {
	auth := newAuthenticator(store, newSigner(audienceAPI, d.SigningKey, d.OlderSigningKeys, d.Now), d.Background, d.Now)
	passwords := newPasswords()
	mail := &accountMail{store: store, mailer: d.Mailer, tasks: d.Mails, publicURL: d.PublicURL, now: d.Now}
	logins := logins{store: store, passwords: passwords, tasks: d.Background}
	verifications := &verifications{store: store, auth: auth, passwords: passwords, logins: logins, mail: mail, tasks: d.Background}
	return &accountService{
		Auth: auth, passwords: passwords, loginLinks: store, addresses: d.Addresses,
		Pages: &pages{
			store: store, verifications: verifications, recipients: store, auth: auth, passwords: passwords, mail: mail,
			addresses: d.Addresses,
		},
		operations: []operations{
			&accounts{
				store: store, auth: auth, passwords: passwords, logins: logins, mail: mail, tasks: d.Background, tier: d.SignupTier,
				signups: signupLimits{perAddress: d.UnverifiedPerAddress, total: d.UnverifiedTotal, targets: d.PrivateTargets},
			},
			verifications,
			&sessions{store: store, auth: auth},
			&members{store: store, auth: auth, passwords: passwords, mail: mail},
			&organizations{store: store, auth: auth, mail: mail},
			&auditLog{store: store},
			&apiKeys{store: store, auth: auth, mail: mail, now: d.Now},
		},
	}
}

// Register registers the operations of accounts.
func (s *accountService) Register(r *rest.Registrar) { registerAll(r, s.operations) }

// Identify returns whose session token it is, and under which session version it was
// made. A token that is not valid any more is a CodeUnauthorized error.
func (s *accountService) Identify(ctx context.Context, token string) (userID uuid.UUID, version int64, err error) {
	who, err := s.Auth.byToken(ctx, token)
	if err != nil {
		return uuid.Nil, 0, err
	}
	return who.User.ID, who.User.SessionVersion, nil
}

// WatchHashes has watch called before each hash of a password is made or compared, for tests.
// Call it before the first request.
func (s *accountService) WatchHashes(watch func()) { s.passwords.watch(watch) }
