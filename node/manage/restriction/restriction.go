// Package restriction serves the kinds of restrictions that campaigns and bids may have: a fixed table.
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

// Type says what a restriction counts, over which time, and for what.
type Type struct {
	ID              int    `json:"id" minimum:"1" maximum:"18"`
	InteractionType string `json:"interactionType" enum:"impressions,clicks,conversions"`
	FrequencyType   string `json:"frequencyType" enum:"daily,weekly,monthly"`
	Level           string `json:"level" enum:"campaign,bid"`
}

// Types is the whole table.
type Types struct {
	RestrictionTypes []Type `json:"restrictionTypes"`
}

// table is in the order of the ids: by level, then interaction, then frequency. The ids are part of the interface.
var table = func() (all []Type) {
	for _, level := range []string{"campaign", "bid"} {
		for _, interaction := range []string{"impressions", "clicks", "conversions"} {
			for _, frequency := range []string{"daily", "weekly", "monthly"} {
				all = append(all, Type{len(all) + 1, interaction, frequency, level})
			}
		}
	}
	return all
}()

type (
	nothing   struct{}
	typeInput struct {
		ID string `path:"id" minLength:"1" maxLength:"255" doc:"1 to 18."`
	}
	typeOutput  struct{ Body Type }
	typesOutput struct{ Body Types }
)

func listTypes(context.Context, *nothing) (*typesOutput, error) {
	return &typesOutput{Types{table}}, nil
}

// getType takes the id as text, because whatever is not in the table is unknown and not malformed.
func getType(_ context.Context, in *typeInput) (*typeOutput, error) {
	for _, t := range table {
		if strconv.Itoa(t.ID) == in.ID {
			return &typeOutput{t}, nil
		}
	}
	return nil, resource.Refuse(apierr.ResourceNotFound, "")
}
