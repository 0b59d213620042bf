package admin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	apiKeyBase = "/public/v1/key-service/keys" //nolint:gosec // A path.
	apiKeyTag  = "API keys"
)

type apiKeyService struct {
	now      func() time.Time
	lastUsed func(id string) (unixMillis int64)
}

// RegisterAPIKeys mounts the key operations. lastUsed is auth.Table.LastUsed.
func RegisterAPIKeys(api huma.API, now func() time.Time, lastUsed func(id string) (unixMillis int64)) {
	s := apiKeyService{now: now, lastUsed: lastUsed}
	resource.Add(api, resource.Op{
		ID: "createKey", Method: http.MethodPost, Status: http.StatusCreated, Path: apiKeyBase, Tag: apiKeyTag,
		Doc: "Create an API key. Its text is only in this answer.",
	}, s.create)
	resource.Add(api, resource.Op{ID: "listKeys", Method: http.MethodGet, Path: apiKeyBase, Tag: apiKeyTag, Doc: "List the API keys, newest first."}, s.list)
	resource.Add(api, resource.Op{
		ID: "deleteKey", Method: http.MethodDelete, Status: http.StatusNoContent, Path: apiKeyBase + "/{key_id}", Tag: apiKeyTag,
		Doc: "Revoke an API key; the last management key cannot be revoked.",
	}, revokeAPIKey)
}

// APIKeyBody is a new key.
type APIKeyBody struct {
	Kind      string         `json:"kind" enum:"auction,management"`
	Name      string         `json:"name" minLength:"1" maxLength:"64"`
	ExpiresAt *resource.Time `json:"expiresAt,omitempty" doc:"In the future; absent: never."`
}

// APIKey is a key without its text.
type APIKey struct {
	KeyID      string         `json:"keyId"`
	Kind       string         `json:"kind" enum:"auction,management"`
	Name       string         `json:"name"`
	CreatedAt  resource.Time  `json:"createdAt"`
	ExpiresAt  *resource.Time `json:"expiresAt"`
	LastUsedAt *resource.Time `json:"lastUsedAt" doc:"Beginning of the minute in which the node that answers last accepted the key; null: not since it started. Each node knows of its own requests only."`
}

// NewAPIKey is a key with its text.
type NewAPIKey struct {
	KeyID     string         `json:"keyId"`
	Key       string         `json:"key" doc:"The text to send as Authorization: Bearer <key>. Shown once."`
	Kind      string         `json:"kind" enum:"auction,management"`
	Name      string         `json:"name"`
	CreatedAt resource.Time  `json:"createdAt"`
	ExpiresAt *resource.Time `json:"expiresAt"`
}

// APIKeyList is one page of keys.
type APIKeyList struct {
	Keys []APIKey `json:"keys"`
	resource.Page
}

type (
	apiKeyCreateInput  struct{ Body APIKeyBody }
	apiKeyCreateOutput struct{ Body NewAPIKey }
	apiKeyListInput    struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	apiKeyListOutput struct{ Body APIKeyList }
	revokeInput      struct {
		KeyID string `path:"key_id" minLength:"1" maxLength:"64"`
	}
)

func (s apiKeyService) create(ctx context.Context, in *apiKeyCreateInput) (*apiKeyCreateOutput, error) {
	var expires int64
	if in.Body.ExpiresAt != nil {
		expires = int64(*in.Body.ExpiresAt)
		if expires <= s.now().UnixMilli() {
			return nil, resource.Invalid(resource.At("value_error", "must be in the future", "body", "expiresAt"))
		}
	}
	k, text, err := resource.Tenant(ctx).CreateKey(ctx, store.KeyKind(in.Body.Kind), in.Body.Name, expires)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &apiKeyCreateOutput{NewAPIKey{k.ID, text, string(k.Kind), k.Name, resource.Time(k.CreatedMillis), resource.TimeOf(k.ExpiresMillis)}}, nil
}

// list returns a page of the keys, newest first. There are few, so the page is taken from all of them in memory.
func (s apiKeyService) list(ctx context.Context, in *apiKeyListInput) (*apiKeyListOutput, error) {
	st := resource.Tenant(ctx)
	keys, err := st.Keys(ctx)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	position := func(k store.Key) string { return resource.NewestFirst(k.CreatedMillis, k.ID) }
	slices.SortFunc(keys, func(a, b store.Key) int { return cmp.Compare(position(a), position(b)) })
	page, end, err := resource.List(resource.CursorsFor(ctx, st.CursorKey(), "listKeys"), in.NextPage, in.Limit, position, resource.Sorted(keys, position))
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	all := make([]APIKey, len(page))
	for i, k := range page {
		all[i] = APIKey{k.ID, string(k.Kind), k.Name, resource.Time(k.CreatedMillis), resource.TimeOf(k.ExpiresMillis), resource.TimeOf(s.lastUsed(k.ID))}
	}
	return &apiKeyListOutput{APIKeyList{all, end}}, nil
}

func revokeAPIKey(ctx context.Context, in *revokeInput) (*struct{}, error) {
	err := resource.Tenant(ctx).RevokeKey(ctx, in.KeyID)
	if errors.Is(err, store.ErrWrongState) {
		return nil, resource.Refuse(apierr.InvalidOperation, "this is the last management key; make another first")
	}
	return nil, resource.ErrorOf(err)
}
