// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// accountStore is what sign-up and log-in need of the database.
type accountStore interface {
	SignUp(
		ctx context.Context, limits account.SignupLimits, org account.Organization, user account.User, key *account.NewKey,
	) (account.User, account.Organization, error)
	UserByEmail(ctx context.Context, email string) (account.User, error)
	User(ctx context.Context, id uuid.UUID) (account.User, error)
	Organization(ctx context.Context, id uuid.UUID) (account.Organization, error)
	DeleteAccount(ctx context.Context, orgID, userID uuid.UUID, by account.Credential) error
	signupRequestStore
}

type accounts struct {
	store     accountStore
	auth      *Authenticator
	passwords *passwords
	logins    logins
	mail      *accountMail
	tasks     *resource.Tasks
	tier      account.Tier // of new organizations
	signups   signupLimits
}

// userView is a User (spec section 2).
type userView struct {
	ID            uuid.UUID    `json:"id" format:"uuid"`
	Email         string       `json:"email" format:"email" example:"ada@example.com"`
	EmailVerified bool         `json:"email_verified" doc:"Whether a link sent to the address was used."`
	Name          string       `json:"name" example:"Ada"`
	Role          account.Role `json:"role" enum:"owner,editor,responder,viewer" doc:"What the user may do in the organization."`
	CreatedAt     time.Time    `json:"created_at"`
	UpdatedAt     time.Time    `json:"updated_at"`
}

func showUser(u account.User) userView {
	return userView{
		ID: u.ID, Email: u.Email, EmailVerified: u.EmailVerified, Name: u.Name, Role: u.Role,
		CreatedAt: u.CreatedAt.UTC(), UpdatedAt: u.UpdatedAt.UTC(),
	}
}

// organizationView is an Organization (spec section 2).
type organizationView struct {
	ID        uuid.UUID    `json:"id" format:"uuid"`
	Name      string       `json:"name" example:"Analytical Engines"`
	Slug      string       `json:"slug" example:"analytical-engines"`
	Tier      account.Tier `json:"tier" enum:"free,paid,enterprise"`
	CreatedAt time.Time    `json:"created_at"`
	UpdatedAt time.Time    `json:"updated_at"`
}

func showOrganization(o account.Organization) organizationView {
	return organizationView{
		ID: o.ID, Name: o.Name, Slug: o.Slug, Tier: o.Tier,
		CreatedAt: o.CreatedAt.UTC(), UpdatedAt: o.UpdatedAt.UTC(),
	}
}

// authView is an AuthResponse (spec section 2).
type authView struct {
	Token        string           `json:"token" doc:"A session token (JWT), valid for 7 days."`
	User         userView         `json:"user"`
	Organization organizationView `json:"organization"`
}

type meView struct {
	User         userView         `json:"user"`
	Organization organizationView `json:"organization"`
	Scopes       []account.Scope  `json:"scopes" enum:"read,respond,write,admin" doc:"What the credential may do: the scopes of the user's role, for an API key those of them that the key has."`
	HasPassword  bool             `json:"has_password" doc:"Whether the user has a password, and so can log in with it."`
	APIKey       *KeyView         `json:"api_key,omitempty" doc:"The API key of the request; absent for a session token."`
}

type signupBody struct {
	Email            string `json:"email" format:"email" maxLength:"254" example:"ada@example.com"`
	Password         string `json:"password" minLength:"8" maxLength:"128" writeOnly:"true" example:"correct horse battery staple"`
	Name             string `json:"name" minLength:"1" maxLength:"200" example:"Ada"`
	OrganizationName string `json:"organization_name" minLength:"1" maxLength:"200" example:"Analytical Engines"`
}

type loginBody struct {
	Email    string `json:"email" maxLength:"254" example:"ada@example.com"`
	Password string `json:"password" maxLength:"128" writeOnly:"true" example:"correct horse battery staple"`
}

type quickSignupBody struct {
	Email   string `json:"email" format:"email" maxLength:"254" example:"ada@example.com"`
	OrgName string `json:"org_name,omitempty" maxLength:"200" doc:"Name of the organization; without one it is made from the address." example:"Analytical Engines"`
}

type quickSignupView struct {
	APIKey       string           `json:"api_key" doc:"The key. It is shown only once." example:"vgl_8mKq2VxTz0bYd4RfWc7NjH1sLgPaEu5i0Xo2Qp"`
	KeyPrefix    string           `json:"key_prefix" doc:"The first characters of the key, to recognize it." example:"vgl_8mKq2VxT"`
	User         userView         `json:"user"`
	Organization organizationView `json:"organization"`
	Verification verificationView `json:"verification"`
}

// verificationView describes the limits of an account until it is verified.
type verificationView struct {
	Status                string `json:"status" enum:"unverified,verified"`
	ChecksExpireAfterDays int    `json:"checks_expire_after_days" doc:"Checks of an unverified account are deleted after so many days." example:"14"`
}

func (a *accounts) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/signup", ID: "signup", Tag: resource.TagAccount,
		Open: true, Status: http.StatusCreated, Audit: "account.signup",
		Summary: "Create an account with a password",
	}, a.signup)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/login", ID: "login", Tag: resource.TagAccount, Open: true, Audit: "account.login",
		Summary: "Log in with a password",
		Errors:  []int{http.StatusUnauthorized},
	}, a.login)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/quick-signup", ID: "quick-signup", Tag: resource.TagAccount,
		Open: true, Status: http.StatusCreated, Audit: "account.signup",
		Summary:     "Create an account without a password and get an API key",
		Description: "An address that already has an account gets 409, and its owner a mail with a sign-in link.",
		Errors:      []int{http.StatusConflict},
	}, a.quickSignup)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/auth/me", ID: "get-me", Tag: resource.TagAccount, Scope: rest.AnyScope,
		Summary: "Get the user and organization of the credential",
	}, a.me)
	a.registerDelete(r)
	a.registerRequests(r)
}

func (a *accounts) signup(ctx context.Context, in *struct{ Body signupBody }) (*rest.Answer[authView], error) {
	asked, err := cleanSignup(in.Body.Email, in.Body.Name, in.Body.OrganizationName)
	if err != nil {
		return nil, err
	}
	hash, err := a.passwords.hash(ctx, in.Body.Password)
	if err != nil {
		return nil, err
	}
	user, org, err := a.createAccount(ctx, account.User{Email: asked.Email, Name: asked.Name, PasswordHash: hash}, asked.Organization, nil)
	if vigil.ErrorCode(err) == vigil.CodeConflict {
		return nil, vigil.Invalid("email", "already has an account: log in, or recover access")
	}
	if err != nil {
		return nil, err
	}
	return a.auth.session(user, org)
}

// createAccount makes a user and the organization that the user owns.
func (a *accounts) createAccount(
	ctx context.Context, user account.User, orgName string, key *account.NewKey,
) (account.User, account.Organization, error) {
	org := account.Organization{ID: uuid.New(), Name: orgName, Tier: a.tier}
	user.ID, user.OrgID = uuid.New(), org.ID
	if address := rest.RequestOf(ctx).Address; address.IsValid() {
		user.CreatedAddress = address.String()
	}
	rest.AuditUser(ctx, user)
	user, org, err := a.store.SignUp(ctx, a.limits(ctx), org, user, key)
	if err != nil {
		return user, org, err
	}
	return user, org, a.mail.welcome(ctx, user)
}

// session answers with a fresh token.
func (a *Authenticator) session(user account.User, org account.Organization) (*rest.Answer[authView], error) {
	token, err := a.signer.Sign(Claims{Session: user.SessionVersion}, user.ID)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(authView{Token: token, User: showUser(user), Organization: showOrganization(org)}), nil
}

// login compares the password even when no account has the address, so that
// neither the answer nor its time reveals which addresses have one.
func (a *accounts) login(ctx context.Context, in *struct{ Body loginBody }) (*rest.Answer[authView], error) {
	user, err := a.store.UserByEmail(ctx, in.Body.Email)
	if err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound {
		return nil, err
	}
	ok, err := a.logins.try(ctx, in.Body.Email, user, in.Body.Password)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, vigil.Errorf(vigil.CodeUnauthorized, "The email address or the password is wrong.")
	}
	rest.AuditUser(ctx, user)
	org, err := a.store.Organization(ctx, user.OrgID)
	if err != nil {
		return nil, err
	}
	return a.auth.session(user, org)
}

func (a *accounts) quickSignup(ctx context.Context, in *struct{ Body quickSignupBody }) (*rest.Answer[quickSignupView], error) {
	email, err := rest.CleanAccountEmail("email", in.Body.Email)
	if err != nil {
		return nil, err
	}
	name := rest.LocalPart(email)
	orgName := name
	if in.Body.OrgName != "" {
		if orgName, err = rest.CleanName("org_name", in.Body.OrgName); err != nil {
			return nil, err
		}
	}
	plain, key, err := NewKey("quick sign-up")
	if err != nil {
		return nil, err
	}
	user, org, err := a.createAccount(ctx, account.User{Email: email, Name: name}, orgName, &key)
	if vigil.ErrorCode(err) == vigil.CodeConflict {
		a.tasks.Start(ctx, "mail the owner of an address that signs up again", func(ctx context.Context) error {
			return a.mail.recover(ctx, email, alreadyHasAccount)
		})
		return nil, vigil.Errorf(vigil.CodeConflict, "This email address already has an account; a sign-in link was sent to it.")
	}
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(quickSignupView{
		APIKey: plain, KeyPrefix: key.Prefix, User: showUser(user), Organization: showOrganization(org),
		Verification: verificationView{Status: "unverified", ChecksExpireAfterDays: resource.UnverifiedDays},
	}), nil
}

// me reads the account again: the credential cache may be some seconds old.
func (a *accounts) me(ctx context.Context, _ *struct{}) (*rest.Answer[meView], error) {
	who := rest.CallerOf(ctx)
	user, err := a.store.User(ctx, who.User.ID)
	if err != nil {
		return nil, err
	}
	org, err := a.store.Organization(ctx, who.Org.ID)
	if err != nil {
		return nil, err
	}
	now := rest.Caller{User: user, Org: org, Key: who.Key}
	view := meView{User: showUser(user), Organization: showOrganization(org), Scopes: now.Scopes(), HasPassword: user.PasswordHash != ""}
	if who.Key.ID != uuid.Nil {
		view.APIKey = new(showKey(who.Key))
	}
	return rest.NewAnswer(view), nil
}
