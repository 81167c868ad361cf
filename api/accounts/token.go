// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// Session tokens are JWTs (spec section 5).
const (
	tokenLifetime = 7 * 24 * time.Hour
	tokenIssuer   = "vigil"
)

// audience is what a token is for (RFC 7519, section 4.1.3). A token is refused wherever
// another audience is asked for.
type audience string

const (
	audienceAPI audience = "api" // a session of a user
	// AudienceCodec is a session of the codec endpoint.
	AudienceCodec audience = "codec"
)

// Claims is what a token says. Session is the user's session version when it
// was made: raising that ends every token made before.
type Claims struct {
	jwt.RegisteredClaims
	Session int64 `json:"sv"`
	// Key is the API key that the token stands for; zero: none.
	Key uuid.UUID `json:"key,omitzero"`
}

// Signer makes and reads tokens of one audience.
type Signer struct {
	audience audience
	key      []byte
	keys     jwt.VerificationKeySet
	parser   *jwt.Parser
	now      func() time.Time
}

// NewSigner returns what signs sessions for an audience with a key, and reads those signed with
// an older one too.
func NewSigner(audience audience, key []byte, older [][]byte, now func() time.Time) *Signer {
	s := &Signer{audience: audience, key: key, now: now, keys: jwt.VerificationKeySet{Keys: []jwt.VerificationKey{key}}}
	for _, k := range older {
		s.keys.Keys = append(s.keys.Keys, k)
	}
	s.parser = jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(tokenIssuer),
		jwt.WithAudience(string(audience)), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithTimeFunc(now),
	)
	return s
}

// Sign makes a token for a user, with the claims and its registered ones.
func (s *Signer) Sign(c Claims, userID uuid.UUID) (string, error) {
	now := s.now()
	c.RegisteredClaims = jwt.RegisteredClaims{
		Issuer:    tokenIssuer,
		Audience:  jwt.ClaimStrings{string(s.audience)},
		Subject:   userID.String(),
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(tokenLifetime)),
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign a session token: %w", err)
	}
	return signed, nil
}

// errToken gives no reason, so that a forger learns nothing from it.
var errToken = errors.New("invalid or expired token")

// Read returns what a token says. Its subject is the id of a user.
func (s *Signer) Read(token string) (Claims, error) {
	var c Claims
	if _, err := s.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return s.keys, nil }); err != nil {
		return Claims{}, fmt.Errorf("%w: %w", errToken, err)
	}
	return c, nil
}
