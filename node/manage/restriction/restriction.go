// Package restriction serves the types of restrictions that campaigns and bids may have, which are a fixed table. The restrictions
// themselves are a part of campaigns, and node/manage/campaign serves them.
package restriction

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
)

const (
	typesPath = "/public/v1/campaign-service/restriction-types"
	tag       = "Restrictions"
)

// Register mounts the operations.
func Register(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "listRestrictionTypes", Method: http.MethodGet, Path: typesPath, Tag: tag, Doc: "List the kinds of restrictions.",
	}, listTypes)
	resource.Add(api, resource.Op{
		ID: "getRestrictionType", Method: http.MethodGet, Path: typesPath + "/{id}", Tag: tag, Doc: "Read a kind of restriction.",
	}, getType)
}

// Types is the whole table.
type Types struct {
	RestrictionTypes []resource.RestrictionType `json:"restrictionTypes"`
}

type (
	nothing   struct{}
	typeInput struct {
		ID string `path:"id" minLength:"1" maxLength:"255" doc:"1 to 18."`
	}
	typeOutput  struct{ Body resource.RestrictionType }
	typesOutput struct{ Body Types }
)

func listTypes(context.Context, *nothing) (*typesOutput, error) {
	return &typesOutput{Types{resource.RestrictionTypes}}, nil
}

// getType reads the id as text, because everything that is not in the table is unknown (404) and not malformed (422).
func getType(_ context.Context, in *typeInput) (*typeOutput, error) {
	for _, t := range resource.RestrictionTypes {
		if strconv.Itoa(t.ID) == in.ID {
			return &typeOutput{t}, nil
		}
	}
	return nil, resource.Refuse(apierr.ResourceNotFound, "")
}
