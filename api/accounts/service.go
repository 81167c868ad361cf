// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// Store is what accounts need of the database.
type Store interface {
	credentialStore
	accountStore
	loginStore
	verificationStore
	recoveryStore
	RecipientStore
	tokenStore
	auditStore
	memberStore
	organizationStore
	sessionStore
	loginLinkStore
	keyStore
}

// Deps is what accounts need beside their store.
type Deps struct {
	Mailer Mailer // nil sends no mail
	// Background does what a request leaves running behind it, Mails sends.
	Background, Mails *resource.Tasks
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

// Service is the part of the API about accounts: its operations, its pages, and how a
// request proves whose it is.
type Service struct {
	// Auth finds the user of a credential.
	Auth *Authenticator
	// Pages shows what links of mails lead to.
	Pages *Pages

	operations []resource.Operations
	passwords  *passwords
	loginLinks loginLinkStore
	addresses  *rest.RateWindow
}

// New returns the part of the API about accounts.
func New(store Store, d Deps) *Service {
	auth := newAuthenticator(store, NewSigner(audienceAPI, d.SigningKey, d.OlderSigningKeys, d.Now), d.Background, d.Now)
	passwords := newPasswords()
	mail := &accountMail{store: store, mailer: d.Mailer, tasks: d.Mails, publicURL: d.PublicURL, now: d.Now}
	logins := logins{store: store, passwords: passwords, tasks: d.Background}
	verifications := &verifications{store: store, auth: auth, passwords: passwords, logins: logins, mail: mail, tasks: d.Background}
	return &Service{
		Auth: auth, passwords: passwords, loginLinks: store, addresses: d.Addresses,
		Pages: &Pages{
			store: store, verifications: verifications, recipients: store, auth: auth, passwords: passwords, mail: mail,
			addresses: d.Addresses,
		},
		operations: []resource.Operations{
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

// HashPassword returns the argon2id hash of a password. As many are made at once as there are processors.
func (s *Service) HashPassword(ctx context.Context, password string) (string, error) {
	return s.passwords.hash(ctx, password)
}

// Register registers the operations of accounts.
func (s *Service) Register(r *rest.Registrar) { resource.RegisterAll(r, s.operations) }

// Identify returns whose session token it is, and under which session version it was
// made. A token that is not valid any more is a CodeUnauthorized error.
func (s *Service) Identify(ctx context.Context, token string) (userID uuid.UUID, version int64, err error) {
	who, err := s.Auth.byToken(ctx, token)
	if err != nil {
		return uuid.Nil, 0, err
	}
	return who.User.ID, who.User.SessionVersion, nil
}

// WatchHashes has watch called before each hash of a password is made or compared, for tests.
// Call it before the first request.
func (s *Service) WatchHashes(watch func()) { s.passwords.watch(watch) }

// HashCheaply makes hashes of passwords that protect nothing and take 64 KiB and some 100 µs, for tests.
// Call it before the first request.
func (s *Service) HashCheaply() { s.passwords.params.Memory, s.passwords.params.Iterations = 64, 1 }
