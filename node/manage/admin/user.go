package admin

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	userBase = "/public/v1/user-service/advertiser-users"
	userTag  = "Users"
)

// RegisterUsers mounts the operations.
func RegisterUsers(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "getAdvertiserUser", Method: http.MethodGet, Path: userBase, Tag: userTag, Doc: "Find a user by e-mail address, compared without case.",
	}, getUser)
	resource.Add(api, resource.Op{
		ID: "createAdvertiserUser", Method: http.MethodPost, Status: http.StatusCreated, Path: userBase, Tag: userTag,
		Doc: "Add a user; an address has at most one.",
	}, createUser)
	resource.Add(api, resource.Op{
		ID: "patchAdvertiserUser", Method: http.MethodPatch, Path: userBase + "/{user_id}", Tag: userTag, Doc: "Change a user.",
	}, patchUser)
	resource.Add(api, resource.Op{
		ID: "deleteAdvertiserUser", Method: http.MethodDelete, Status: http.StatusNoContent, Path: userBase + "/{user_id}", Tag: userTag,
		Doc: "Delete a user.",
	}, removeUser)
}

// UserBody is a user as the marketplace sends it.
type UserBody struct {
	Email              string   `json:"email" maxLength:"255" format:"email"`
	VendorIDs          []string `json:"vendorIds" minItems:"1" maxItems:"1000" minLength:"1" maxLength:"255" doc:"In the catalog; repeats count once."`
	GivenName          string   `json:"givenName,omitempty" maxLength:"50" doc:"Default empty."`
	FamilyName         string   `json:"familyName,omitempty" maxLength:"50" doc:"Default empty."`
	LanguagePreference string   `json:"languagePreference,omitempty" enum:"en,fr,es,pt,ru,ar-AE,de,ko" doc:"Default en."`
}

// UserPatchBody changes the members that it contains.
type UserPatchBody struct {
	Email              *string                   `json:"email,omitempty" maxLength:"255" format:"email"`
	VendorIDs          []string                  `json:"vendorIds,omitempty" minItems:"1" maxItems:"1000" minLength:"1" maxLength:"255" doc:"Replaces the list."`
	GivenName          resource.Optional[string] `json:"givenName,omitzero" maxLength:"50" doc:"Null: empty."`
	FamilyName         resource.Optional[string] `json:"familyName,omitzero" maxLength:"50" doc:"Null: empty."`
	LanguagePreference resource.Optional[string] `json:"languagePreference,omitzero" enum:"en,fr,es,pt,ru,ar-AE,de,ko" doc:"Null: en."`
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
	userCreateInput struct{ Body UserBody }
	userPatchInput  struct {
		OneUser
		Body UserPatchBody
	}
	userOutput struct{ Body User }
)

// OneUser names a user.
type OneUser struct {
	UserID string `path:"user_id" format:"uuid"`
}

func getUser(ctx context.Context, in *getInput) (*userOutput, error) {
	return userAnswer(resource.Tenant(ctx).UserByEmail(ctx, in.Email))
}

func createUser(ctx context.Context, in *userCreateInput) (*userOutput, error) {
	vendors, err := vendorsOf(ctx, in.Body.VendorIDs)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	if b.LanguagePreference == "" {
		b.LanguagePreference = "en"
	}
	return userAnswer(resource.Tenant(ctx).CreateUser(ctx, store.User{
		Email: b.Email, VendorIDs: vendors, GivenName: b.GivenName, FamilyName: b.FamilyName, Language: b.LanguagePreference,
	}))
}

func patchUser(ctx context.Context, in *userPatchInput) (*userOutput, error) {
	vendors, err := vendorsOf(ctx, in.Body.VendorIDs)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	if b.LanguagePreference.Null {
		b.LanguagePreference.Value = "en"
	}
	return userAnswer(resource.Tenant(ctx).ChangeUser(ctx, resource.ParseUUID(in.UserID), func(u *store.User) {
		if b.Email != nil {
			u.Email = *b.Email
		}
		b.GivenName.Apply(&u.GivenName)
		b.FamilyName.Apply(&u.FamilyName)
		b.LanguagePreference.Apply(&u.Language)
		if vendors != nil {
			u.VendorIDs = vendors
		}
	}))
}

func removeUser(ctx context.Context, in *OneUser) (*struct{}, error) {
	return nil, resource.ErrorOf(resource.Tenant(ctx).DeleteUser(ctx, resource.ParseUUID(in.UserID)))
}

// vendorsOf removes repeats. Vendors that are not in the catalog are violations, each at its position.
func vendorsOf(ctx context.Context, named []string) ([]string, error) {
	if len(named) == 0 {
		return nil, nil
	}
	known, _, err := resource.Tenant(ctx).Vendors(ctx, store.Page{Limit: len(named)}, named)
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

func userAnswer(u store.User, err error) (*userOutput, error) {
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &userOutput{User{
		u.ID.String(), u.Email, u.VendorIDs, u.GivenName, u.FamilyName, u.Language,
		resource.Time(u.CreatedMillis), resource.Time(u.UpdatedMillis),
	}}, nil
}
