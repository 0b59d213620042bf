// Package apikey serves the marketplace's API keys. The text of a key is answered once, when it is made.
package apikey

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
	base = "/public/v1/key-service/keys"
	tag  = "API keys"
)

// Store is what keys need of a marketplace's store.
type Store interface {
	Keys(ctx context.Context) ([]store.Key, error)
	CreateKey(ctx context.Context, kind store.KeyKind, name string, expiresMillis int64) (store.Key, string, error)
	RevokeKey(ctx context.Context, id string) error
	CursorKey() [32]byte
}

type service struct {
	now func() time.Time
}

// Register mounts the key operations.
func Register(api huma.API, now func() time.Time) {
	s := service{now: now}
	resource.Add(api, resource.Op{
		ID: "createKey", Method: http.MethodPost, Status: http.StatusCreated, Path: base, Tag: tag,
		Doc: "Create an API key. Its text is only in this answer.",
	}, s.create)
	resource.Add(api, resource.Op{ID: "listKeys", Method: http.MethodGet, Path: base, Tag: tag, Doc: "List the API keys, newest first."}, list)
	resource.Add(api, resource.Op{
		ID: "deleteKey", Method: http.MethodDelete, Status: http.StatusNoContent, Path: base + "/{key_id}", Tag: tag,
		Doc: "Revoke an API key; the last management key cannot be revoked.",
	}, revoke)
}

// Body is a new key.
type Body struct {
	Kind      string         `json:"kind" enum:"auction,management"`
	Name      string         `json:"name" minLength:"1" maxLength:"64"`
	ExpiresAt *resource.Time `json:"expiresAt,omitempty" doc:"In the future; absent: never."`
}

// Key is a key without its text.
type Key struct {
	KeyID     string         `json:"keyId"`
	Kind      string         `json:"kind" enum:"auction,management"`
	Name      string         `json:"name"`
	CreatedAt resource.Time  `json:"createdAt"`
	ExpiresAt *resource.Time `json:"expiresAt"`
}

// NewKey is a key with its text.
type NewKey struct {
	KeyID     string         `json:"keyId"`
	Key       string         `json:"key" doc:"The text to send as Authorization: Bearer <key>. Shown once."`
	Kind      string         `json:"kind" enum:"auction,management"`
	Name      string         `json:"name"`
	CreatedAt resource.Time  `json:"createdAt"`
	ExpiresAt *resource.Time `json:"expiresAt"`
}

// List is one page of keys.
type List struct {
	Keys []Key `json:"keys"`
	resource.Page
}

type (
	createInput  struct{ Body Body }
	createOutput struct{ Body NewKey }
	listInput    struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	listOutput  struct{ Body List }
	revokeInput struct {
		KeyID string `path:"key_id" minLength:"1" maxLength:"64"`
	}
)

func storeOf(ctx context.Context) Store { return resource.Tenant[Store](ctx) }

func (s service) create(ctx context.Context, in *createInput) (*createOutput, error) {
	var expires int64
	if in.Body.ExpiresAt != nil {
		expires = int64(*in.Body.ExpiresAt)
		if expires <= s.now().UnixMilli() {
			return nil, resource.Invalid(resource.At("value_error", "must be in the future", "body", "expiresAt"))
		}
	}
	k, text, err := storeOf(ctx).CreateKey(ctx, store.KeyKind(in.Body.Kind), in.Body.Name, expires)
	if err != nil {
		return nil, resource.LimitErrorOf(err, "there are 20 active keys of this kind; delete one first")
	}
	return &createOutput{NewKey{k.ID, text, string(k.Kind), k.Name, resource.Time(k.CreatedMillis), resource.TimeOf(k.ExpiresMillis)}}, nil
}

// list returns a page of the keys, newest first. There are few, so the page is taken from all of them in memory.
func list(ctx context.Context, in *listInput) (*listOutput, error) {
	st := storeOf(ctx)
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
	all := make([]Key, len(page))
	for i, k := range page {
		all[i] = Key{k.ID, string(k.Kind), k.Name, resource.Time(k.CreatedMillis), resource.TimeOf(k.ExpiresMillis)}
	}
	return &listOutput{List{all, end}}, nil
}

func revoke(ctx context.Context, in *revokeInput) (*struct{}, error) {
	err := storeOf(ctx).RevokeKey(ctx, in.KeyID)
	if errors.Is(err, store.ErrWrongState) {
		return nil, resource.Refuse(apierr.InvalidOperation, "this is the last management key; make another first")
	}
	return nil, resource.ErrorOf(err)
}
