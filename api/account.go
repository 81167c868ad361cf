package api

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"vigil"
)

const tagAccount = "Account"

// userView is a User (spec section 2).
type userView struct {
	ID            uuid.UUID `json:"id" format:"uuid"`
	Email         string    `json:"email" format:"email" example:"ada@example.com"`
	EmailVerified bool      `json:"email_verified" doc:"Whether a link sent to the address was used."`
	Name          string    `json:"name" example:"Ada"`
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`
}

func showUser(u vigil.User) userView {
	return userView{
		ID: u.ID, Email: u.Email, EmailVerified: u.EmailVerified, Name: u.Name,
		CreatedAt: u.CreatedAt.UTC(), UpdatedAt: u.UpdatedAt.UTC(),
	}
}

// organizationView is an Organization (spec section 2).
type organizationView struct {
	ID        uuid.UUID  `json:"id" format:"uuid"`
	Name      string     `json:"name" example:"Analytical Engines"`
	Slug      string     `json:"slug" example:"analytical-engines"`
	Tier      vigil.Tier `json:"tier" enum:"free,paid,enterprise"`
	CreatedAt time.Time  `json:"created_at"`
	UpdatedAt time.Time  `json:"updated_at"`
}

func showOrganization(o vigil.Organization) organizationView {
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
	APIKey       string           `json:"api_key" doc:"The key. It is shown this once and never again." example:"vgl_8mKq2VxTz0bYd4RfWc7NjH1sLgPaEu5i0Xo2Qp"`
	KeyPrefix    string           `json:"key_prefix" doc:"How the key begins, to recognize it by." example:"vgl_8mKq2VxT"`
	User         userView         `json:"user"`
	Organization organizationView `json:"organization"`
	Verification verificationView `json:"verification"`
}

// verificationView tells a new account what it misses until it is verified.
type verificationView struct {
	Status                string `json:"status" enum:"unverified,verified"`
	ChecksExpireAfterDays int    `json:"checks_expire_after_days" doc:"Checks of an unverified account are deleted after so many days." example:"14"`
}

func (s *Server) registerAccount() {
	register(s, operation{
		method: http.MethodPost, path: "/v1/auth/signup", id: "signup", tag: tagAccount, open: true, status: http.StatusCreated, audit: "account.signup",
		summary: "Create an account with a password",
	}, s.signup)
	register(s, operation{
		method: http.MethodPost, path: "/v1/auth/login", id: "login", tag: tagAccount, open: true, audit: "account.login",
		summary: "Get a session token for a password",
		errors:  []int{http.StatusUnauthorized},
	}, s.login)
	register(s, operation{
		method: http.MethodPost, path: "/v1/auth/quick-signup", id: "quick-signup", tag: tagAccount, open: true, status: http.StatusCreated, audit: "account.signup",
		summary:     "Create an account without a password and get an API key",
		description: "For an address that has an account already the answer is 409, and its owner gets a mail with a sign-in link.",
		errors:      []int{http.StatusConflict},
	}, s.quickSignup)
	register(s, operation{
		method: http.MethodGet, path: "/v1/auth/me", id: "get-me", tag: tagAccount,
		summary: "Show who the credential belongs to",
	}, s.me)
}

func (s *Server) signup(ctx context.Context, in *struct{ Body signupBody }) (*answerOf[authView], error) {
	email, err := cleanEmail("email", in.Body.Email)
	if err != nil {
		return nil, err
	}
	name, err := cleanName("name", in.Body.Name)
	if err != nil {
		return nil, err
	}
	orgName, err := cleanName("organization_name", in.Body.OrganizationName)
	if err != nil {
		return nil, err
	}
	hash, err := s.passwords.hash(ctx, in.Body.Password)
	if err != nil {
		return nil, err
	}
	user, org, err := s.createAccount(ctx, vigil.User{Email: email, Name: name, PasswordHash: hash}, orgName, nil)
	if vigil.ErrorCode(err) == vigil.CodeConflict {
		return nil, vigil.Invalid("email", "already has an account: log in, or recover access")
	}
	if err != nil {
		return nil, err
	}
	return s.session(user, org)
}

// createAccount makes a user and the organization that the user owns.
func (s *Server) createAccount(ctx context.Context, user vigil.User, orgName string, key *vigil.NewKey) (vigil.User, vigil.Organization, error) {
	org := vigil.Organization{ID: uuid.New(), Name: orgName, Tier: s.Config.SignupTier}
	user.ID, user.OrgID = uuid.New(), org.ID
	auditWho(ctx, user)
	user, org, err := s.Store.CreateAccount(ctx, org, user, key)
	if err != nil {
		return user, org, err
	}
	return user, org, s.sendVerification(ctx, user, user.Email)
}

// session answers with a fresh token.
func (s *Server) session(user vigil.User, org vigil.Organization) (*answerOf[authView], error) {
	token, err := s.auth.signer.sign(user)
	if err != nil {
		return nil, err
	}
	return answering(authView{Token: token, User: showUser(user), Organization: showOrganization(org)}), nil
}

// login compares the password even when nobody has the address, so that the two
// cannot be told apart by their time or their answer.
func (s *Server) login(ctx context.Context, in *struct{ Body loginBody }) (*answerOf[authView], error) {
	user, err := s.Store.UserByEmail(ctx, in.Body.Email)
	if err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound {
		return nil, err
	}
	ok, err := s.tryPassword(ctx, in.Body.Email, user, in.Body.Password)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, vigil.Errorf(vigil.CodeUnauthorized, "The email address or the password is wrong.")
	}
	auditWho(ctx, user)
	org, err := s.Store.Organization(ctx, user.OrgID)
	if err != nil {
		return nil, err
	}
	return s.session(user, org)
}

func (s *Server) quickSignup(ctx context.Context, in *struct{ Body quickSignupBody }) (*answerOf[quickSignupView], error) {
	email, err := cleanEmail("email", in.Body.Email)
	if err != nil {
		return nil, err
	}
	name := localPart(email)
	orgName := name
	if in.Body.OrgName != "" {
		if orgName, err = cleanName("org_name", in.Body.OrgName); err != nil {
			return nil, err
		}
	}
	plain, key, err := NewKey("quick sign-up")
	if err != nil {
		return nil, err
	}
	user, org, err := s.createAccount(ctx, vigil.User{Email: email, Name: name}, orgName, &key)
	if vigil.ErrorCode(err) == vigil.CodeConflict {
		s.tasks.start(ctx, "tell an owner of a second sign-up", func(ctx context.Context) error {
			return s.mailRecovery(ctx, email, "Somebody, probably you, signed up with this address, which has an account already.")
		})
		return nil, vigil.Errorf(vigil.CodeConflict, "This email address has an account already; its owner has been sent a sign-in link.")
	}
	if err != nil {
		return nil, err
	}
	return answering(quickSignupView{
		APIKey: plain, KeyPrefix: key.Prefix, User: showUser(user), Organization: showOrganization(org),
		Verification: verificationView{Status: "unverified", ChecksExpireAfterDays: unverifiedDays},
	}), nil
}

// me reads the account anew: what the credential check remembers may be some
// seconds old.
func (s *Server) me(ctx context.Context, _ *struct{}) (*answerOf[meView], error) {
	who := caller(ctx)
	user, err := s.Store.User(ctx, who.user.ID)
	if err != nil {
		return nil, err
	}
	org, err := s.Store.Organization(ctx, who.org.ID)
	if err != nil {
		return nil, err
	}
	return answering(meView{User: showUser(user), Organization: showOrganization(org)}), nil
}
