package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// ContentKind is the kind of the addresses of contents, in the form of blob.Name. A content has no file: it is part of its bid.
const ContentKind = "c"

// contentAddress is the last part of the public URL of a banner's content.
func (t Tenant) contentAddress(campaign, bid ids.UUID, asset int) string {
	return fmt.Sprintf("%s%04x-%s-%s-%d", ContentKind, t.marketplace, campaign, bid, asset)
}

// addressContents gives the contents of a bid that came without a URL their URLs, below the base of those of assets. It is part of
// the bid from then on.
func (t Tenant) addressContents(campaign ids.UUID, b *model.Bid) {
	if b.Creative == nil {
		return
	}
	for i := range b.Creative.Assets {
		if a := &b.Creative.Assets[i]; a.URL == "" && a.AssetID == "" && len(a.Content) > 0 {
			a.URL = t.store.AssetURL + AssetPath + t.contentAddress(campaign, b.ID, i)
		}
	}
}

// Content returns the content with an address, and when its bid was created. ErrNotFound while its campaign is not approved, and
// for an address that was not given to a content of this marketplace.
func (t Tenant) Content(ctx context.Context, address string) (content []byte, createdMillis int64, err error) {
	campaign, bid, index, ok := splitContentAddress(address)
	if !ok {
		return nil, 0, ErrNotFound
	}
	c, err := t.Campaign(ctx, campaign)
	if err != nil {
		return nil, 0, err
	}
	b, err := t.Bid(ctx, campaign, bid)
	if err != nil {
		return nil, 0, err
	}
	given := c.Status == model.Approved && b.Creative != nil && index < len(b.Creative.Assets) &&
		strings.HasSuffix(b.Creative.Assets[index].URL, AssetPath+address)
	if !given {
		return nil, 0, ErrNotFound
	}
	return b.Creative.Assets[index].Content, b.CreatedMillis, nil
}

// splitContentAddress reads an address; the kind and the marketplace at its beginning are of any value.
func splitContentAddress(address string) (campaign, bid ids.UUID, index int, ok bool) {
	_, rest, _ := strings.Cut(address, "-")
	if len(rest) < 2*(uuidLen+1) || rest[uuidLen] != '-' || rest[2*uuidLen+1] != '-' {
		return campaign, bid, 0, false
	}
	campaign, errCampaign := ids.Parse(rest[:uuidLen])
	bid, errBid := ids.Parse(rest[uuidLen+1 : 2*uuidLen+1])
	index, errIndex := strconv.Atoi(rest[2*uuidLen+2:])
	return campaign, bid, index, errCampaign == nil && errBid == nil && errIndex == nil && index >= 0
}
