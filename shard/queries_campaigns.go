package shard

import (
	"encoding/binary"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/ledger"
	"github.com/gavel-ads/gavel/shard/model"
)

// CampaignState is a campaign with its money.
type CampaignState struct {
	model.Campaign
	Money    ledger.Budget
	BidCount int            // Not deleted.
	Paced    *command.Paced // The last decision of the pacing controller; nil: none.
}

// CampaignFilter selects campaigns. A zero member selects all of them, except that a nil Status leaves terminated
// campaigns out.
type CampaignFilter struct {
	VendorID string
	Status   *model.Status
	Format   *model.AdFormat
	Active   *bool
}

// Wallet returns one wallet.
func (b Queries) Wallet(id ids.UUID) (ledger.Wallet, bool) {
	stored, found := b.R.Get(keyWallet(nil, id))
	if !found {
		return ledger.Wallet{}, false
	}
	return must(readWallet(id, stored)), true
}

// Wallets lists the wallets of a vendor in the order of their ids.
func (b Queries) Wallets(marketplace uint16, vendor string) (all []ledger.Wallet) {
	prefix := keyOfVendor(nil, tableVendorWallet, marketplace, vendor)
	var names []ids.UUID
	b.R.Scan(prefix, prefixEnd(prefix), func(key, _ []byte) bool {
		names = append(names, ids.UUID(key[len(prefix):]))
		return true
	})
	for _, id := range names {
		if w, found := b.Wallet(id); found {
			all = append(all, w)
		}
	}
	return all
}

// Campaign returns a campaign of any marketplace. REQUIRES: the caller compares its Marketplace with the expected one.
func (b Queries) Campaign(id ids.UUID) (CampaignState, bool) {
	at, found := b.R.Get(keyCampaignID(nil, id))
	if !found {
		return CampaignState{}, false
	}
	return b.CampaignByOrdinal(binary.BigEndian.Uint32(at))
}

// CampaignByOrdinal returns the campaign with an ordinal of this group.
func (b Queries) CampaignByOrdinal(ordinal uint32) (CampaignState, bool) {
	stored, found := b.R.Get(keyCampaign(nil, ordinal))
	if !found {
		return CampaignState{}, false
	}
	c := must(readCampaign(stored))
	s := CampaignState{Campaign: c.Campaign, BidCount: int(c.bids)}
	if stored, found = b.R.Get(keyBudget(nil, ordinal)); found {
		s.Money = must(readBudget(stored))
	}
	if x, found := b.Paced(ordinal); found {
		s.Paced = &x
	}
	return s, true
}

// CampaignByExternalID returns the campaign with an external id, unique per marketplace and format in this group.
func (b Queries) CampaignByExternalID(marketplace uint16, format model.AdFormat, external string) (CampaignState, bool) {
	at, found := b.R.Get(keyExternalID(nil, marketplace, format, external))
	if !found {
		return CampaignState{}, false
	}
	return b.CampaignByOrdinal(binary.BigEndian.Uint32(at))
}

// Campaigns lists the campaigns of a marketplace that pass the filter, newest first, without the first offset of them.
// It scans all campaigns of the marketplace or vendor until the page is full.
func (b Queries) Campaigns(marketplace uint16, f *CampaignFilter, offset, limit int) (all []CampaignState, more bool) {
	prefix := appendU16([]byte{tableNewest}, marketplace)
	if f.VendorID != "" {
		prefix = keyOfVendor(nil, tableVendorNewest, marketplace, f.VendorID)
	}
	var ordinals []uint32
	b.R.Scan(prefix, prefixEnd(prefix), func(key, _ []byte) bool {
		ordinals = append(ordinals, ^binary.BigEndian.Uint32(key[len(key)-4:]))
		return true
	})
	for _, ordinal := range ordinals {
		c, found := b.CampaignByOrdinal(ordinal)
		switch {
		case !found || !f.passes(&c.Campaign):
		case offset > 0:
			offset--
		case len(all) == limit:
			return all, true
		default:
			all = append(all, c)
		}
	}
	return all, false
}

func (f *CampaignFilter) passes(c *model.Campaign) bool {
	if f.Status == nil && c.Status == model.Terminated || f.Status != nil && *f.Status != c.Status {
		return false
	}
	return (f.Format == nil || *f.Format == c.Format) && (f.Active == nil || *f.Active == c.Active)
}

// Bid returns a bid of any campaign by id, with the ordinal of its campaign. It also finds deleted bids.
func (b Queries) Bid(id ids.UUID) (campaign uint32, bid model.Bid, found bool) {
	at, found := b.R.Get(keyBidID(nil, id))
	if !found {
		return 0, bid, false
	}
	campaign = binary.BigEndian.Uint32(at)
	bid, found = b.BidByOrdinal(campaign, binary.BigEndian.Uint32(at[4:]))
	return campaign, bid, found
}

// BidByOrdinal returns a bid by its ordinal and that of its campaign in this group. It also finds deleted bids.
func (b Queries) BidByOrdinal(campaign, ordinal uint32) (model.Bid, bool) {
	stored, found := b.R.Get(keyBid(nil, campaign, ordinal))
	if !found {
		return model.Bid{}, false
	}
	return mustBid(stored), true
}

// Bids lists the bids of a campaign that are not deleted, in the order of their creation, without the first offset of
// them.
func (b Queries) Bids(campaign uint32, offset, limit int) (all []model.Bid, more bool) {
	prefix := appendU32([]byte{tableBid}, campaign)
	b.R.Scan(prefix, prefixEnd(prefix), func(_, value []byte) bool {
		switch bid := mustBid(value); {
		case bid.Deleted:
		case offset > 0:
			offset--
		case len(all) == limit:
			more = true
			return false
		default:
			all = append(all, bid)
		}
		return true
	})
	return all, more
}
