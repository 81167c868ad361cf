package api

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"vigil"
)

// Session tokens are JWTs (spec section 5).
const (
	tokenLifetime = 7 * 24 * time.Hour
	tokenIssuer   = "vigil"
)

// claims is what a token says. Session is the user's session version when it
// was made: raising that ends every token made before.
type claims struct {
	jwt.RegisteredClaims
	Session int64 `json:"sv"`
}

// signer makes and reads tokens.
type signer struct {
	key    []byte
	keys   jwt.VerificationKeySet
	parser *jwt.Parser
	now    func() time.Time
}

func newSigner(key []byte, older [][]byte, now func() time.Time) *signer {
	s := &signer{key: key, now: now, keys: jwt.VerificationKeySet{Keys: []jwt.VerificationKey{key}}}
	for _, k := range older {
		s.keys.Keys = append(s.keys.Keys, k)
	}
	s.parser = jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithIssuer(tokenIssuer), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithTimeFunc(now),
	)
	return s
}

// sign makes a token for a user.
func (s *signer) sign(user vigil.User) (string, error) {
	now := s.now()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    tokenIssuer,
			Subject:   user.ID.String(),
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(tokenLifetime)),
		},
		Session: user.SessionVersion,
	})
	signed, err := token.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign a session token: %w", err)
	}
	return signed, nil
}

// errToken gives no reason, so that a forger learns nothing from it.
var errToken = errors.New("invalid or expired token")

// read returns whose token it is and under which session version it was made.
func (s *signer) read(token string) (userID uuid.UUID, session int64, err error) {
	var c claims
	if _, err := s.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return s.keys, nil }); err != nil {
		return uuid.UUID{}, 0, fmt.Errorf("%w: %w", errToken, err)
	}
	if userID, err = uuid.Parse(c.Subject); err != nil {
		return uuid.UUID{}, 0, errToken
	}
	return userID, c.Session, nil
}
