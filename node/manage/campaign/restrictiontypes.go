package campaign

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
)

const (
	typesPath           = "/public/v1/campaign-service/restriction-types"
	restrictionTypesTag = "Restrictions"
)

// RegisterRestrictionTypes mounts the operations.
func RegisterRestrictionTypes(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "listRestrictionTypes", Method: http.MethodGet, Path: typesPath, Tag: restrictionTypesTag, Doc: "List the kinds of restrictions.",
	}, listTypes)
	resource.Add(api, resource.Op{
		ID: "getRestrictionType", Method: http.MethodGet, Path: typesPath + "/{id}", Tag: restrictionTypesTag, Doc: "Read a kind of restriction.",
	}, getType)
}

// RestrictionTypes is the whole table.
type RestrictionTypes struct {
	RestrictionTypes []resource.RestrictionType `json:"restrictionTypes"`
}

type (
	restrictionTypesInput struct{}
	restrictionTypeInput  struct {
		ID string `path:"id" minLength:"1" maxLength:"255" doc:"1 to 18."`
	}
	typeOutput  struct{ Body resource.RestrictionType }
	typesOutput struct{ Body RestrictionTypes }
)

func listTypes(context.Context, *restrictionTypesInput) (*typesOutput, error) {
	return &typesOutput{RestrictionTypes{resource.RestrictionTypes}}, nil
}

// getType reads the id as text, because everything that is not in the table is unknown (404) and not malformed (422).
func getType(_ context.Context, in *restrictionTypeInput) (*typeOutput, error) {
	for _, t := range resource.RestrictionTypes {
		if strconv.Itoa(t.ID) == in.ID {
			return &typeOutput{t}, nil
		}
	}
	return nil, resource.Refuse(apierr.ResourceNotFound, "")
}
