package campaign

import (
	"context"
	"crypto/rand"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/campaigns"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// restriction bounds the interactions of one user with a campaign. It is stored in the campaign's document.
type restriction struct {
	ID            string `json:"id"`
	Type          uint8  `json:"type"`
	Limit         uint32 `json:"limit"`
	Inactive      bool   `json:"inactive,omitempty"`
	CreatedMillis int64  `json:"createdMillis"`
	UpdatedMillis int64  `json:"updatedMillis"`
}

// caps are the active restrictions of a document.
func (d *document) caps() (caps []model.Cap) {
	for _, r := range d.Restrictions {
		if !r.Inactive {
			caps = append(caps, model.Cap{Type: r.Type, Limit: r.Limit})
		}
	}
	return caps
}

// RestrictionBody is a new restriction.
type RestrictionBody struct {
	RestrictionTypeID int   `json:"restrictionTypeId" minimum:"1" maximum:"18" doc:"One of the restriction types; a campaign can have each type once. Restrictions of conversions are stored, but conversions are not counted yet."`
	Limit             int64 `json:"limit" minimum:"1" maximum:"4294967295" doc:"Interactions of one user in one period."`
}

// RestrictionPatch changes the members that it contains.
type RestrictionPatch struct {
	Limit  *int64 `json:"limit,omitempty" minimum:"1" maximum:"4294967295"`
	Status string `json:"status,omitempty" enum:"active,inactive"`
}

// Restriction is a restriction in answers.
type Restriction struct {
	ID              string                   `json:"id" format:"uuid"`
	CampaignID      string                   `json:"campaignId" format:"uuid"`
	MarketplaceID   string                   `json:"marketplaceId" format:"uuid"`
	RestrictionType resource.RestrictionType `json:"restrictionType"`
	Limit           int64                    `json:"limit"`
	Status          string                   `json:"status" enum:"active,inactive"`
	CreatedAt       resource.Time            `json:"createdAt"`
	UpdatedAt       resource.Time            `json:"updatedAt"`
}

// Restrictions are all restrictions of a campaign.
type Restrictions struct {
	Restrictions []Restriction `json:"restrictions"`
}

type (
	addRestrictionInput struct {
		OneCampaign
		Body RestrictionBody
	}
	patchRestrictionInput struct {
		OneCampaign
		RestrictionID string `path:"restriction_id" format:"uuid"`
		Body          RestrictionPatch
	}
	restrictionOutput  struct{ Body Restriction }
	restrictionsOutput struct{ Body Restrictions }
)

func restrictionOf(c *store.CampaignState, r *restriction, marketplace ids.UUID) Restriction {
	status := "active"
	if r.Inactive {
		status = "inactive"
	}
	return Restriction{
		ID: r.ID, CampaignID: c.ID.String(), MarketplaceID: marketplace.String(), RestrictionType: resource.RestrictionTypes[r.Type-1],
		Limit: int64(r.Limit), Status: status, CreatedAt: resource.Time(r.CreatedMillis), UpdatedAt: resource.Time(r.UpdatedMillis),
	}
}

// changeRestrictions rewrites the restrictions of a campaign. change returns the one that it created or changed; it may run several times.
func (s service) changeRestrictions(ctx context.Context, id ids.UUID, change func(*document) (*restriction, error)) (*restrictionOutput, error) {
	st := resource.Tenant(ctx)
	var out restrictionOutput
	err := st.ChangeCampaign(ctx, id, func(now *store.CampaignState) (*command.PatchCampaign, error) {
		d := decodeDocument(now.Document)
		r, err := change(&d)
		if err != nil {
			return nil, err
		}
		if now.Status == model.Terminated {
			return nil, resource.CampaignErrorOf(campaigns.ErrTerminated, nil)
		}
		out.Body = restrictionOf(now, r, st.Settings().ID)
		return &command.PatchCampaign{Campaign: id, Document: d.encode(), Caps: new(d.caps())}, nil
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &out, nil
}

func (s service) addRestriction(ctx context.Context, in *addRestrictionInput) (*restrictionOutput, error) {
	return s.changeRestrictions(ctx, in.id(), func(d *document) (*restriction, error) {
		for i := range d.Restrictions {
			if int(d.Restrictions[i].Type) == in.Body.RestrictionTypeID {
				return nil, resource.Refuse(apierr.AlreadyExists, "the campaign has a restriction of this type")
			}
		}
		now := s.now().UnixMilli()
		var entropy [10]byte
		_, _ = rand.Read(entropy[:]) // crypto/rand never returns an error.
		d.Restrictions = append(d.Restrictions, restriction{
			ID: ids.Mint(now, entropy, 0).String(), Type: uint8(in.Body.RestrictionTypeID), Limit: uint32(in.Body.Limit),
			CreatedMillis: now, UpdatedMillis: now,
		})
		return &d.Restrictions[len(d.Restrictions)-1], nil
	})
}

func (s service) patchRestriction(ctx context.Context, in *patchRestrictionInput) (*restrictionOutput, error) {
	id := resource.ParseUUID(in.RestrictionID).String()
	return s.changeRestrictions(ctx, in.id(), func(d *document) (*restriction, error) {
		for i := range d.Restrictions {
			r := &d.Restrictions[i]
			if r.ID != id {
				continue
			}
			if in.Body.Limit != nil {
				r.Limit = uint32(*in.Body.Limit)
			}
			if in.Body.Status != "" {
				r.Inactive = in.Body.Status == "inactive"
			}
			r.UpdatedMillis = s.now().UnixMilli()
			return r, nil
		}
		return nil, resource.ErrorOf(store.ErrNotFound)
	})
}

func (s service) listRestrictions(ctx context.Context, in *OneCampaign) (*restrictionsOutput, error) {
	c, err := resource.Tenant(ctx).Campaign(ctx, in.id())
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	d, marketplace := decodeDocument(c.Document), resource.Tenant(ctx).Settings().ID
	all := make([]Restriction, len(d.Restrictions))
	for i := range d.Restrictions {
		all[i] = restrictionOf(&c, &d.Restrictions[i], marketplace)
	}
	return &restrictionsOutput{Restrictions{all}}, nil
}
