package api

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"vigil"
)

const tagKeys = "API keys"

// KeyView is an API key without the key.
type KeyView struct {
	ID         uuid.UUID  `json:"id" format:"uuid"`
	Name       string     `json:"name" example:"deployment"`
	KeyPrefix  string     `json:"key_prefix" doc:"How the key begins, to recognize it by." example:"vgl_8mKq2VxT"`
	CreatedAt  time.Time  `json:"created_at"`
	LastUsedAt *time.Time `json:"last_used_at" doc:"When the key was last used, to about a minute; null before its first use."`
}

// newKeyView is an API key on the one occasion when the key is shown.
type newKeyView struct {
	KeyView
	APIKey string `json:"api_key" doc:"The key. It is shown this once and never again." example:"vgl_8mKq2VxTz0bYd4RfWc7NjH1sLgPaEu5i0Xo2Qp"`
}

func showKey(k vigil.APIKey) KeyView {
	view := KeyView{ID: k.ID, Name: k.Name, KeyPrefix: k.Prefix, CreatedAt: k.CreatedAt.UTC()}
	if k.LastUsedAt != nil {
		view.LastUsedAt = new(k.LastUsedAt.UTC())
	}
	return view
}

// keyBody creates a key. What a key shows of itself may come along and changes
// nothing.
type keyBody struct {
	Name       string `json:"name" minLength:"1" maxLength:"200" example:"deployment"`
	ID         any    `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	KeyPrefix  any    `json:"key_prefix,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt  any    `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	LastUsedAt any    `json:"last_used_at,omitempty" readOnly:"true" doc:"Ignored."`
	APIKey     any    `json:"api_key,omitempty" readOnly:"true" doc:"Ignored."`
}

func (s *Server) registerKeys() {
	register(s, operation{
		method: http.MethodGet, path: "/v1/api-keys", id: "list-api-keys", tag: tagKeys,
		summary: "List the organization's API keys, newest first",
	}, func(ctx context.Context, in *struct{ PageQuery }) (*listOf[KeyView], error) {
		keys, total, err := s.Store.Keys(ctx, caller(ctx).org.ID, in.page())
		if err != nil {
			return nil, err
		}
		return listing(keys, total, showKey), nil
	})
	register(s, operation{
		method: http.MethodPost, path: "/v1/api-keys", id: "create-api-key", tag: tagKeys, status: http.StatusCreated, audit: "api_key.create",
		summary: "Create an API key and show it once",
	}, s.createKey)
	register(s, operation{
		method: http.MethodDelete, path: "/v1/api-keys/{id}", id: "delete-api-key", tag: tagKeys, status: http.StatusNoContent, audit: "api_key.delete",
		summary: "Revoke an API key", resource: resourceKey,
		description: "Acts within 5 seconds everywhere.",
	}, s.deleteKey)
}

// resourceKey names a key in errors.
const resourceKey = "API key"

func (s *Server) createKey(ctx context.Context, in *struct{ Body keyBody }) (*answerOf[newKeyView], error) {
	name, err := cleanName("name", in.Body.Name)
	if err != nil {
		return nil, err
	}
	plain, kept, err := NewKey(name)
	if err != nil {
		return nil, err
	}
	who := caller(ctx)
	key, err := s.Store.CreateKey(ctx, who.org.ID, who.user.ID, kept)
	if err != nil {
		return nil, err
	}
	return answering(newKeyView{KeyView: showKey(key), APIKey: plain}), nil
}

func (s *Server) deleteKey(ctx context.Context, in *IDPath) (*struct{}, error) {
	id, err := in.parse(resourceKey)
	if err != nil {
		return nil, err
	}
	if err := s.Store.DeleteKey(ctx, caller(ctx).org.ID, id); err != nil {
		return nil, err
	}
	s.auth.forgetKey(id)
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}
