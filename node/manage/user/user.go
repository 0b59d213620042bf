// Package user serves advertiser users: the people who work for the marketplace's vendors.
package user

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
)

const (
	base = "/public/v1/user-service/advertiser-users"
	tag  = "Users"
)

// Store is what users need of a marketplace's store.
type Store interface {
	CreateUser(ctx context.Context, u store.User) (store.User, error)
	UserByEmail(ctx context.Context, email string) (store.User, error)
	ChangeUser(ctx context.Context, id ids.UUID, fn func(*store.User)) (store.User, error)
	DeleteUser(ctx context.Context, id ids.UUID) error
	Vendors(ctx context.Context, p store.Page, ids []string) ([]market.Vendor, bool, error)
}

// Register mounts the operations.
func Register(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "getAdvertiserUser", Method: http.MethodGet, Path: base, Tag: tag, Doc: "Find a user by e-mail address, compared without case.",
	}, get)
	resource.Add(api, resource.Op{
		ID: "createAdvertiserUser", Method: http.MethodPost, Status: http.StatusCreated, Path: base, Tag: tag,
		Doc: "Add a user; an address has at most one.",
	}, create)
	resource.Add(api, resource.Op{
		ID: "patchAdvertiserUser", Method: http.MethodPatch, Path: base + "/{user_id}", Tag: tag, Doc: "Change a user.",
	}, patch)
	resource.Add(api, resource.Op{
		ID: "deleteAdvertiserUser", Method: http.MethodDelete, Status: http.StatusNoContent, Path: base + "/{user_id}", Tag: tag,
		Doc: "Delete a user.",
	}, remove)
}

// Body is a user as the marketplace sends it.
type Body struct {
	Email              string   `json:"email" maxLength:"255" format:"email"`
	VendorIDs          []string `json:"vendorIds" minItems:"1" maxItems:"1000" minLength:"1" maxLength:"255" doc:"In the catalog; repeats count once."`
	GivenName          string   `json:"givenName,omitempty" maxLength:"50" doc:"Default empty."`
	FamilyName         string   `json:"familyName,omitempty" maxLength:"50" doc:"Default empty."`
	LanguagePreference string   `json:"languagePreference,omitempty" enum:"en,fr,es,pt,ru,ar-AE,de,ko" doc:"Default en."`
}

// PatchBody changes the members that it contains.
type PatchBody struct {
	Email              *string  `json:"email,omitempty" maxLength:"255" format:"email"`
	VendorIDs          []string `json:"vendorIds,omitempty" minItems:"1" maxItems:"1000" minLength:"1" maxLength:"255" doc:"Replaces the list."`
	GivenName          *string  `json:"givenName,omitempty" maxLength:"50"`
	FamilyName         *string  `json:"familyName,omitempty" maxLength:"50"`
	LanguagePreference *string  `json:"languagePreference,omitempty" enum:"en,fr,es,pt,ru,ar-AE,de,ko"`
}

// User is a user in answers.
type User struct {
	UserID             string        `json:"userId" format:"uuid"`
	Email              string        `json:"email"`
	VendorIDs          []string      `json:"vendorIds"`
	GivenName          string        `json:"givenName"`
	FamilyName         string        `json:"familyName"`
	LanguagePreference string        `json:"languagePreference"`
	CreatedAt          resource.Time `json:"createdAt"`
	UpdatedAt          resource.Time `json:"updatedAt"`
}

type (
	getInput struct {
		Email string `query:"email" required:"true" maxLength:"255" format:"email"`
	}
	createInput struct{ Body Body }
	patchInput  struct {
		OneUser
		Body PatchBody
	}
	output struct{ Body User }
)

// OneUser names a user.
type OneUser struct {
	UserID string `path:"user_id" format:"uuid"`
}

func storeOf(ctx context.Context) Store { return resource.Tenant[Store](ctx) }

func get(ctx context.Context, in *getInput) (*output, error) {
	return answer(storeOf(ctx).UserByEmail(ctx, in.Email))
}

func create(ctx context.Context, in *createInput) (*output, error) {
	vendors, err := vendorsOf(ctx, in.Body.VendorIDs)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	if b.LanguagePreference == "" {
		b.LanguagePreference = "en"
	}
	return answer(storeOf(ctx).CreateUser(ctx, store.User{
		Email: b.Email, VendorIDs: vendors, GivenName: b.GivenName, FamilyName: b.FamilyName, Language: b.LanguagePreference,
	}))
}

func patch(ctx context.Context, in *patchInput) (*output, error) {
	vendors, err := vendorsOf(ctx, in.Body.VendorIDs)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	return answer(storeOf(ctx).ChangeUser(ctx, resource.ParseUUID(in.UserID), func(u *store.User) {
		set(&u.Email, b.Email)
		set(&u.GivenName, b.GivenName)
		set(&u.FamilyName, b.FamilyName)
		set(&u.Language, b.LanguagePreference)
		if vendors != nil {
			u.VendorIDs = vendors
		}
	}))
}

func set(to, from *string) {
	if from != nil {
		*to = *from
	}
}

func remove(ctx context.Context, in *OneUser) (*struct{}, error) {
	return nil, resource.ErrorOf(storeOf(ctx).DeleteUser(ctx, resource.ParseUUID(in.UserID)))
}

// vendorsOf removes repeats. Vendors that are not in the catalog are violations, each at its position.
func vendorsOf(ctx context.Context, named []string) ([]string, error) {
	if len(named) == 0 {
		return nil, nil
	}
	known, _, err := storeOf(ctx).Vendors(ctx, store.Page{Limit: len(named)}, named)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	exists := make(map[string]bool, len(known))
	for i := range known {
		exists[known[i].ID] = true
	}
	var found []resource.Violation
	var unique []string
	seen := make(map[string]bool, len(named))
	for i, id := range named {
		if !exists[id] {
			found = append(found, resource.At("invalid_vendor", "is not a vendor of the catalog", "body", "vendorIds", i))
		}
		if !seen[id] {
			seen[id] = true
			unique = append(unique, id)
		}
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	return unique, nil
}

func answer(u store.User, err error) (*output, error) {
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &output{User{
		u.ID.String(), u.Email, u.VendorIDs, u.GivenName, u.FamilyName, u.Language,
		resource.Time(u.CreatedMillis), resource.Time(u.UpdatedMillis),
	}}, nil
}
