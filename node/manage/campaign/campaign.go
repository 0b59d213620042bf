package campaign

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/shard/ids"
)

const (
	base = "/public/v1/campaign-service/campaigns"
	tag  = "Campaigns"
)

const (
	targetROASMilli   = 1000  // Units of TargetROASMilli in 1.0.
	bidsOfCampaignMax = 5_000 // BOUND: bids of one campaign. It is the interface's; the store refuses more.
)

// service holds what the operations need beside the caller's store.
type service struct{ now func() time.Time }

// Register mounts the campaign operations.
func Register(api huma.API, now func() time.Time) {
	s := service{now: now}
	add(api, "createCampaign", http.MethodPost, http.StatusCreated, "", "Create a campaign with its bids.", s.create)
	add(api, "listCampaigns", http.MethodGet, http.StatusOK, "", "List campaigns, newest first.", s.list)
	add(api, "getCampaign", http.MethodGet, http.StatusOK, "/{campaign_id}", "Read a campaign.", s.get)
	add(api, "patchCampaign", http.MethodPatch, http.StatusOK, "/{campaign_id}", "Change a campaign.", s.patch)
	add(api, "deleteCampaign", http.MethodDelete, http.StatusNoContent, "/{campaign_id}", "Terminate a campaign; its reports stay.", s.remove)
	add(api, "listCampaignProducts", http.MethodGet, http.StatusOK, "/{campaign_id}/products", "List the product ids that a campaign promotes.", s.products)

	add(api, "createBids", http.MethodPost, http.StatusCreated, "/{campaign_id}/bids", "Add bids, all or none.", s.addBids)
	add(api, "listBids", http.MethodGet, http.StatusOK, "/{campaign_id}/bids", "List bids in the order of their creation.", s.listBids)
	add(api, "patchBid", http.MethodPatch, http.StatusOK, "/{campaign_id}/bids/{bid_id}", "Change a bid.", s.patchBid)
	add(api, "createRestriction", http.MethodPost, http.StatusCreated, "/{campaign_id}/restrictions", "Limit how often one user sees or clicks a campaign or one of its bids.", s.addRestriction)
	add(api, "listRestrictions", http.MethodGet, http.StatusOK, "/{campaign_id}/restrictions", "List the restrictions of a campaign.", s.listRestrictions)
	add(api, "patchRestriction", http.MethodPatch, http.StatusOK, "/{campaign_id}/restrictions/{restriction_id}", "Change a restriction, or switch it on or off.", s.patchRestriction)
	add(api, "deleteBid", http.MethodDelete, http.StatusNoContent, "/{campaign_id}/bids/{bid_id}", "Delete a bid.", s.removeBid)
}

func add[I, O any](api huma.API, id, method string, status int, path, doc string, serve func(context.Context, *I) (*O, error)) {
	resource.Add(api, resource.Op{ID: id, Method: method, Status: status, Path: base + path, Tag: tag, Doc: doc}, serve)
}

// Next is the next page of a list that is paged by offset.
type Next struct {
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

func nextOf(more bool, offset, limit int) *Next {
	if !more {
		return nil
	}
	return &Next{Offset: offset + limit, Limit: limit}
}

// OneCampaign names the campaign of an operation.
type OneCampaign struct {
	CampaignID string `path:"campaign_id" format:"uuid"`
	resource.Owned
}

// CheckOwner refuses a request that names another vendor than the campaign's.
func (c *OneCampaign) CheckOwner(ctx context.Context) error {
	return c.CheckCampaign(ctx, c.CampaignID)
}

func (c *OneCampaign) id() ids.UUID { return resource.ParseUUID(c.CampaignID) }
