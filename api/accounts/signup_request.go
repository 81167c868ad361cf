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
	"github.com/vigil-monitor/vigil/internal/mail"
)

// signupRequestStore keeps the accounts that were asked for and not made yet.
type signupRequestStore interface {
	CreateSignupRequest(ctx context.Context, hash []byte, request account.SignupRequest) error
	SignupRequest(ctx context.Context, hash []byte) (account.SignupRequest, error)
	UseSignupRequest(
		ctx context.Context, hash []byte, tier account.Tier, user account.User,
	) (account.User, account.Organization, error)
}

type signupRequestBody struct {
	Email            string `json:"email" format:"email" maxLength:"254" example:"ada@example.com"`
	Name             string `json:"name" minLength:"1" maxLength:"200" example:"Ada"`
	OrganizationName string `json:"organization_name" minLength:"1" maxLength:"200" example:"Analytical Engines"`
}

// requestedSignupView is what the owner of an address needs to know before making an account.
type requestedSignupView struct {
	Email            string    `json:"email" format:"email" doc:"The address that the link was mailed to, which the account gets."`
	Name             string    `json:"name" example:"Ada"`
	OrganizationName string    `json:"organization_name" example:"Analytical Engines"`
	ExpiresAt        time.Time `json:"expires_at"`
}

type signupConfirmBody struct {
	Token    string `json:"token" minLength:"1" maxLength:"200" doc:"The token of the mailed link."`
	Password string `json:"password" minLength:"8" maxLength:"128" writeOnly:"true" example:"correct horse battery staple"`
}

func (a *accounts) registerRequests(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:  http.MethodPost,
		Path:    "/v1/auth/signup/request",
		ID:      "request-signup",
		Tag:     resource.TagAccount,
		Open:    true,
		Audit:   rest.NotAudited,
		Summary: "Ask for an account by mail",
		Description: "Mails a link that makes the account, and works once, for 24 hours. The answer is the same whether or not the address has " +
			"an account; one that has is mailed a link to sign in. Where mail does not leave the machine it is a conflict: use " +
			"`POST /v1/auth/signup`.",
		Errors: []int{http.StatusConflict},
	}, a.requestSignup)
	rest.Register(r, rest.Operation{
		Method:      http.MethodPost,
		Path:        "/v1/auth/signup/inspect",
		ID:          "inspect-signup",
		Tag:         resource.TagAccount,
		Open:        true,
		Audit:       rest.NotAudited,
		Summary:     "Describe the account that a mailed link makes",
		Description: "The token stays valid.",
	}, func(ctx context.Context, in *struct{ Body tokenBody }) (*rest.Answer[requestedSignupView], error) {
		request, err := a.store.SignupRequest(ctx, hashToken(in.Body.Token))
		if err != nil {
			return nil, err
		}
		return rest.NewAnswer(requestedSignupView{
			Email: request.Email, Name: request.Name, OrganizationName: request.Organization, ExpiresAt: request.ExpiresAt.UTC(),
		}), nil
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/signup/confirm", ID: "confirm-signup", Tag: resource.TagAccount, Open: true,
		Status: http.StatusCreated, Audit: "account.signup", Errors: []int{http.StatusConflict},
		Summary:     "Make an account with the token of a mailed link",
		Description: "The address counts as confirmed. The answer has a session token.",
	}, a.confirmSignup)
}

// cleanSignup checks the texts that both ways to sign up take.
func cleanSignup(email, name, organization string) (clean account.SignupRequest, err error) {
	if clean.Email, err = rest.CleanAccountEmail("email", email); err != nil {
		return clean, err
	}
	if clean.Name, err = rest.CleanName("name", name); err != nil {
		return clean, err
	}
	clean.Organization, err = rest.CleanName("organization_name", organization)
	return clean, err
}

// requestSignup answers at once and the same in every case; whether there is an account shows
// in nothing but the mail.
func (a *accounts) requestSignup(ctx context.Context, in *struct{ Body signupRequestBody }) (*rest.Answer[messageView], error) {
	if !a.mail.leaves() {
		return nil, vigil.Errorf(vigil.CodeConflict, "Mail does not leave this machine: make the account with POST /v1/auth/signup.")
	}
	asked, err := cleanSignup(in.Body.Email, in.Body.Name, in.Body.OrganizationName)
	if err != nil {
		return nil, err
	}
	a.tasks.Start(ctx, "answer a sign-up by mail", func(ctx context.Context) error { return a.mailRequested(ctx, asked) })
	return rest.NewAnswer(messageView{Message: "A mail is on its way to this address. The account is made when its link is used."}), nil
}

// mailRequested mails the link that makes an account or, to an address that has one, a link to
// sign in.
func (a *accounts) mailRequested(ctx context.Context, request account.SignupRequest) error {
	_, err := a.store.UserByEmail(ctx, request.Email)
	if err == nil {
		return a.mail.recover(ctx, request.Email, alreadyHasAccount)
	}
	if vigil.ErrorCode(err) != vigil.CodeNotFound {
		return err
	}
	if wait, err := a.mail.store.TakeMail(ctx, account.SignupQuotas(request.Email)...); err != nil || wait > 0 {
		return err
	}
	token, hash, err := newSecret()
	if err != nil {
		return err
	}
	if err := a.store.CreateSignupRequest(ctx, hash, request); err != nil {
		return err
	}
	a.mail.send(ctx, "send the link of a sign-up", mail.Message{
		To: []string{request.Email}, Subject: "Make your Vigil account", Button: "Make the account",
		Text: "Someone, probably you, asked for a Vigil account with this address. To make it, open\n\n" +
			a.mail.publicURL + "/app/sign-up/confirm?token=" + token + "\n\n" +
			"and choose a password there. The link works once, for 24 hours.\n\n" +
			"If it was not you, do nothing: without the link no account is made.\n",
	})
	return nil
}

// alreadyHasAccount begins the mail to an address that signs up again.
const alreadyHasAccount = "Someone, probably you, signed up with this address, which already has an account."

func (a *accounts) confirmSignup(ctx context.Context, in *struct{ Body signupConfirmBody }) (*rest.Answer[authView], error) {
	hash := hashToken(in.Body.Token)
	// The costly hash of a password is made for real tokens only.
	if _, err := a.store.SignupRequest(ctx, hash); err != nil {
		return nil, err
	}
	user := account.User{ID: uuid.New()}
	var err error
	if user.PasswordHash, err = a.passwords.hash(ctx, in.Body.Password); err != nil {
		return nil, err
	}
	if address := rest.RequestOf(ctx).Address; address.IsValid() {
		user.CreatedAddress = address.String()
	}
	user, org, err := a.store.UseSignupRequest(ctx, hash, a.tier, user)
	if err != nil {
		return nil, err
	}
	return a.auth.session(user, org)
}
