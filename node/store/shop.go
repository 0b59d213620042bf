package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// shopCampaignsMax is how many shop campaigns a vendor can create, one after the other. BOUND: each creation reads the earlier ones.
const shopCampaignsMax = 10_000

// CreateShopCampaign is CreateCampaign for a vendor's shop campaign, of which one runs at a time. ErrAlreadyExists while there is
// one for which over returns false; ErrTooMany after 10,000. REQUIRES: at least one bid.
//
// The id of a vendor's nth shop campaign follows from the vendor and n. Of requests that find the same n at the same moment, on
// whatever nodes, the state machine carries out the first and takes the others for its repeats. The stored bids show which request
// was the first.
func (t Tenant) CreateShopCampaign(ctx context.Context, c *model.Campaign, bids []model.Bid, over func(*CampaignState) bool) error {
	id, err := t.nextShop(c.VendorID, over)
	if err != nil {
		return err
	}
	c.ID = id
	if err := t.CreateCampaign(ctx, c, bids); err != nil {
		return err
	}
	_, err = t.Bid(ctx, id, bids[0].ID)
	if errors.Is(err, ErrNotFound) {
		return ErrAlreadyExists
	}
	return err
}

// nextShop returns the first id of a shop campaign of the vendor that no campaign has.
func (t Tenant) nextShop(vendorID string, over func(*CampaignState) bool) (ids.UUID, error) {
	seed := sha256.Sum256(append(binary.BigEndian.AppendUint16([]byte("gavel/shop/"), t.marketplace), vendorID...))
	at := ids.ShardOf(ids.AccountOf(t.marketplace, vendorID))
	type next struct {
		id  ids.UUID
		err error
	}
	found, err := read(t, t.groupOf(vendorID), func(b shard.Queries) next {
		for n := range uint32(shopCampaignsMax) {
			id := ids.Derive(seed, n, at)
			c, exists := b.Campaign(id)
			switch {
			case !exists:
				return next{id, nil}
			case !over(&c):
				return next{id, ErrAlreadyExists}
			}
		}
		return next{err: ErrTooMany}
	})
	return found.id, errors.Join(err, found.err)
}
