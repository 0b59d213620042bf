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

// keyUse is the use of the keys on this node. auth.Table has it.
type keyUse interface {
	LastUsed(id string) (unixMillis int64)
	Requests(id string, at time.Time) (today, yesterday int64)
}

type apiKeyService struct {
	now func() time.Time
	use keyUse
}

// RegisterAPIKeys mounts the key operations.
func RegisterAPIKeys(api huma.API, now func() time.Time, use keyUse) {
	s := apiKeyService{now, use}
	resource.Add(api, resource.Op{
		ID: "createKey", Method: http.MethodPost, Status: http.StatusCreated, Path: apiKeyBase, Tag: apiKeyTag,
		Doc: "Create an API key. Its text is only in this answer.",
	}, s.create)
	resource.Add(api, resource.Op{ID: "listKeys", Method: http.MethodGet, Path: apiKeyBase, Tag: apiKeyTag, Doc: "List the API keys, newest first."}, s.list)
	resource.Add(api, resource.Op{
		ID: "deleteKey", Method: http.MethodDelete, Status: http.StatusNoContent, Path: apiKeyBase + "/{key_id}", Tag: apiKeyTag,
		Doc: "Revoke an API key; the last management key cannot be revoked.",
	}, revokeAPIKey)
	resource.Add(api, resource.Op{
		ID: "rotateKey", Method: http.MethodPost, Status: http.StatusCreated, Path: apiKeyBase + "/{key_id}/rotate", Tag: apiKeyTag,
		Doc: "Create a key with the kind and the name of another, which expires by itself after the overlap. The new key's text is only in this answer.",
	}, s.rotate)
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

	RequestsToday     int64 `json:"requestsToday" doc:"Requests of this UTC day that the node that answers accepted with the key since it started. Each node knows of its own requests only."`
	RequestsYesterday int64 `json:"requestsYesterday" doc:"Those of the UTC day before."`
}

// APIKeyRotation says when the old key ends.
type APIKeyRotation struct {
	OverlapHours int            `json:"overlapHours" minimum:"0" maximum:"168" doc:"So long the old key is still accepted, unless it expires earlier; 0: it is refused at once."`
	ExpiresAt    *resource.Time `json:"expiresAt,omitempty" doc:"When the new key expires. In the future; absent: never."`
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
	rotateInput struct {
		KeyID string `path:"key_id" minLength:"1" maxLength:"64"`
		Body  APIKeyRotation
	}
)

func (s apiKeyService) create(ctx context.Context, in *apiKeyCreateInput) (*apiKeyCreateOutput, error) {
	expires, err := s.expiry(in.Body.ExpiresAt)
	if err != nil {
		return nil, err
	}
	k, text, err := resource.Tenant(ctx).CreateKey(ctx, store.KeyKind(in.Body.Kind), in.Body.Name, expires)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return newAPIKey(k, text), nil
}

func (s apiKeyService) rotate(ctx context.Context, in *rotateInput) (*apiKeyCreateOutput, error) {
	expires, err := s.expiry(in.Body.ExpiresAt)
	if err != nil {
		return nil, err
	}
	overlap := time.Duration(in.Body.OverlapHours) * time.Hour
	k, text, err := resource.Tenant(ctx).RotateKey(ctx, in.KeyID, overlap.Milliseconds(), expires)
	if errors.Is(err, store.ErrWrongState) {
		return nil, resource.Refuse(apierr.InvalidOperation, "the key has expired; create another")
	}
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return newAPIKey(k, text), nil
}

// expiry is when a new key expires, in Unix milliseconds; 0 means never.
func (s apiKeyService) expiry(at *resource.Time) (int64, error) {
	if at == nil {
		return 0, nil
	}
	if int64(*at) <= s.now().UnixMilli() {
		return 0, resource.Invalid(resource.At("value_error", "must be in the future", "body", "expiresAt"))
	}
	return int64(*at), nil
}

func newAPIKey(k store.Key, text string) *apiKeyCreateOutput {
	return &apiKeyCreateOutput{NewAPIKey{k.ID, text, string(k.Kind), k.Name, resource.Time(k.CreatedMillis), resource.TimeOf(k.ExpiresMillis)}}
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
		today, yesterday := s.use.Requests(k.ID, s.now())
		all[i] = APIKey{
			k.ID, string(k.Kind), k.Name, resource.Time(k.CreatedMillis), resource.TimeOf(k.ExpiresMillis), resource.TimeOf(s.use.LastUsed(k.ID)),
			today, yesterday,
		}
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
