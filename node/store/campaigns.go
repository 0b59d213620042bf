package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// CreateCampaign stores a campaign with its bids and fills in ids, times, wallet and group. For a campaign that comes with an id, a
// repeat changes nothing. *Limit means that the vendor or the marketplace has as many as it may have, ErrAlreadyExists that the
// ExternalID is taken, ErrExclusiveTaken that another exclusive campaign has a product.
func (t Tenant) CreateCampaign(ctx context.Context, c *model.Campaign, bids []model.Bid) error {
	now := t.now()
	if c.ID.IsZero() {
		c.ID = t.mint(ctx, ids.ShardOf(ids.AccountOf(t.marketplace, c.VendorID)))
	}
	c.Marketplace, c.Group = t.marketplace, t.groupOf(c.VendorID)
	c.CreatedMillis, c.UpdatedMillis = now, now
	if c.Wallet.IsZero() {
		c.Wallet = ids.DefaultWalletOf(t.marketplace, c.VendorID)
	}
	if err := t.checkExternalID(c); err != nil {
		return err
	}
	if err := t.checkExclusive(c, bids); err != nil {
		return err
	}
	release, err := t.reserve(c.VendorID, market.Usage{Campaigns: 1, Bids: len(bids)})
	if err != nil {
		return err
	}
	defer release()
	t.assignIDs(ctx, c.ID, bids, now)
	cmd := command.AppendCreateCampaign(nil, now, &command.CreateCampaign{Campaign: *c, Bids: bids})
	return t.proposeNoticed(ctx, c.Group, cmd, func() (Noticed, error) { return Noticed{Campaign: c}, nil })
}

// checkExternalID returns ErrAlreadyExists when a campaign of any group has the external id. The state machine checks only the
// campaign's own group, so two campaigns that take the same id in two groups at the same moment both succeed.
func (t Tenant) checkExternalID(c *model.Campaign) error {
	if c.ExternalID == "" {
		return nil
	}
	for _, g := range t.store.Groups.Groups() {
		taken, err := read(t, g, func(b shard.Queries) bool {
			holder, taken := b.CampaignByExternalID(t.marketplace, c.Format, c.ExternalID)
			return taken && holder.ID != c.ID // A repeated creation finds its own campaign.
		})
		if err != nil {
			return err
		}
		if taken {
			return ErrAlreadyExists
		}
	}
	return nil
}

// checkExternalIDChange is checkExternalID for a patch.
func (t Tenant) checkExternalIDChange(now *CampaignState, p *command.PatchCampaign) error {
	if p.ExternalID == nil || *p.ExternalID == now.ExternalID {
		return nil
	}
	after := now.Campaign
	after.ExternalID = *p.ExternalID
	return t.checkExternalID(&after)
}

// assignIDs gives new bids their ids, in the shard of their campaign, their times, and what follows from the ids.
func (t Tenant) assignIDs(ctx context.Context, campaign ids.UUID, bids []model.Bid, now int64) {
	for i := range bids {
		bids[i].ID = t.mint(ctx, ids.ShardOf(campaign))
		bids[i].CreatedMillis, bids[i].UpdatedMillis = now, now
		t.addressContents(campaign, &bids[i])
	}
}

// ChangeCampaign changes a campaign by the patch that change makes of its present state. When another writer, on whatever node,
// changes the members that the patch is built on in between, change is called again with the new state: at most maxAttempts times,
// and then the result is ErrChanged. An error of change is returned as it is. ErrNotFound for another marketplace's campaign,
// ErrWrongState for a terminated one.
func (t Tenant) ChangeCampaign(
	ctx context.Context, id ids.UUID, change func(now *CampaignState) (*command.PatchCampaign, error),
) error {
	return retryOnConflict(func() error {
		now, err := t.Campaign(ctx, id)
		if err != nil {
			return err
		}
		p, err := change(&now)
		if err != nil {
			return err
		}
		if err = t.checkExclusiveChange(ctx, &now, p); err != nil {
			return err
		}
		if err = t.checkExternalIDChange(&now, p); err != nil {
			return err
		}
		merges, err := t.supportsMerge(t.groupOfCampaign(id))
		if err != nil {
			return err
		}
		if merges {
			plans, err := t.reached(t.groupOfCampaign(id), command.LevelPacing)
			if err != nil {
				return err
			}
			p.Expect = command.ExpectCampaign(&now.Campaign, dependentMembers(p, plans))
		}
		err = t.PatchCampaign(ctx, p)
		if errors.Is(err, ErrWrongState) && now.Status != model.Terminated { // It was terminated in between, so change decides again.
			return ErrChanged
		}
		return err
	})
}

// dependentMembers returns the members whose present values a patch relies on, because a rule connects them with what it changes.
// A new rule that connects members needs a line here. All other members are independent: changes of them hold in any order.
// plans says that the group knows how total budgets are spent.
func dependentMembers(p *command.PatchCampaign, plans bool) (members command.Members) {
	if plans && (p.Period != nil || p.Pacing != nil) { // Only a total budget with an end is spread evenly.
		members |= command.MembersPlan
	}
	if p.StartMillis != nil || p.EndMillis != nil { // The end must be after the start.
		members |= command.MembersDates
	}
	if p.Status != nil { // A reviewed campaign must not become pending again.
		members |= command.MembersStatus
	}
	if p.TargetROASMilli != nil && *p.TargetROASMilli == 0 { // Without a target the document must name an objective.
		members |= command.MembersDocument
	}
	if p.Document != nil { // The document is replaced whole, and the filters, the schedule and the caps follow from it.
		members |= command.MembersDocument
	}
	return members
}

// PatchCampaign changes members of a campaign, whatever values they have. REQUIRES: the new values depend on no other member. ErrNotFound
// for another marketplace's campaign, ErrWrongState for a terminated one.
func (t Tenant) PatchCampaign(ctx context.Context, p *command.PatchCampaign) error {
	p.Marketplace = t.marketplace
	cmd := command.AppendPatchCampaign(nil, t.now(), p)
	return t.proposeNoticed(ctx, t.groupOfCampaign(p.Campaign), cmd, func() (Noticed, error) { return t.aboutPatch(ctx, p) })
}

func (t Tenant) groupOfCampaign(id ids.UUID) ids.Group {
	return t.store.Groups.GroupOf(ids.ShardOf(id))
}

// AddBids adds bids to a campaign and fills in their ids and times. ErrTooMany beyond 5,000 bids of one campaign, *Limit beyond
// what the vendor or the marketplace may have.
func (t Tenant) AddBids(ctx context.Context, campaign ids.UUID, bids []model.Bid) error {
	c, err := t.Campaign(ctx, campaign)
	if err != nil {
		return err
	}
	release, err := t.reserve(c.VendorID, market.Usage{Bids: len(bids)})
	if err != nil {
		return err
	}
	defer release()
	t.assignIDs(ctx, campaign, bids, t.now())
	if repeated, err := t.findAdded(ctx, campaign, bids); repeated || err != nil {
		markRepeated(ctx)
		return err
	}
	if err := t.checkExclusive(&c.Campaign, bids); err != nil {
		return err
	}
	return t.putBids(ctx, campaign, bids)
}

// findAdded reports whether a request with an idempotency key has added the bids before, and sets them to what is stored: adding
// them again would undo later changes.
func (t Tenant) findAdded(ctx context.Context, campaign ids.UUID, bids []model.Bid) (bool, error) {
	if ctx.Value(idSequenceKey{}) == nil {
		return false, nil
	}
	for i := range bids {
		stored, err := t.Bid(ctx, campaign, bids[i].ID)
		switch {
		case errors.Is(err, ErrNotFound) && i == 0:
			return false, nil
		case errors.Is(err, ErrNotFound): // It was deleted later.
			continue
		case err != nil:
			return false, err
		}
		bids[i] = stored
	}
	return len(bids) > 0, nil
}

// PatchBid changes members of a bid, or deletes it. Members that the patch does not name keep the values that they have when it is
// applied. ErrNotFound for a deleted bid, ErrWrongState when the campaign is terminated.
func (t Tenant) PatchBid(ctx context.Context, p *command.PatchBid) error {
	p.Marketplace = t.marketplace
	g := t.groupOfCampaign(p.Campaign)
	merges, err := t.supportsMerge(g)
	if err != nil {
		return err
	}
	if merges {
		return t.proposeNoticed(ctx, g, command.AppendPatchBid(nil, t.now(), p), aboutBids(p.Campaign, p.Bid))
	}
	b, err := t.Bid(ctx, p.Campaign, p.Bid)
	if err != nil {
		return err
	}
	p.Change(&b)
	b.UpdatedMillis = t.now()
	return t.putBids(ctx, p.Campaign, []model.Bid{b})
}

func (t Tenant) putBids(ctx context.Context, campaign ids.UUID, bids []model.Bid) error {
	p := command.PutBids{Campaign: campaign, Marketplace: t.marketplace, Bids: bids}
	cmd := command.AppendPutBids(nil, t.now(), &p)
	return t.proposeNoticed(ctx, t.groupOfCampaign(campaign), cmd, aboutBids(campaign, idsOf(bids)...))
}

// Campaign returns a campaign of this marketplace, terminated or not, or ErrNotFound.
func (t Tenant) Campaign(_ context.Context, id ids.UUID) (CampaignState, error) {
	return readOne(t, t.groupOfCampaign(id), func(b shard.Queries) (CampaignState, bool) {
		c, ok := b.Campaign(id)
		return c, ok && c.Marketplace == t.marketplace
	})
}

// Campaigns lists campaigns, newest first. Terminated ones are listed only when the filter names that status. A vendor's campaigns
// lie in one group. Without a vendor each group returns its newest campaigns, and the newest of those are the result.
func (t Tenant) Campaigns(ctx context.Context, f CampaignFilter) ([]CampaignState, bool, error) {
	if len(f.IDs) > 0 {
		return t.campaignsByID(ctx, f)
	}
	groups := t.store.Groups.Groups()
	if f.VendorID != "" {
		groups = []ids.Group{t.groupOf(f.VendorID)}
	}
	narrow := shard.CampaignFilter{VendorID: f.VendorID, Status: f.Status, Format: f.Format, Active: f.Active}
	var all []CampaignState
	var more bool
	for _, g := range groups {
		got, err := read(t, g, func(b shard.Queries) (p page[CampaignState]) {
			p.items, p.more = b.Campaigns(t.marketplace, &narrow, 0, f.Offset+f.Limit)
			return p
		})
		if err != nil {
			return nil, false, err
		}
		all, more = append(all, got.items...), more || got.more
	}
	found, cut := f.pageOf(all)
	return found, more || cut, nil
}

// campaignsByID is Campaigns for a filter with ids.
func (t Tenant) campaignsByID(ctx context.Context, f CampaignFilter) ([]CampaignState, bool, error) {
	var all []CampaignState
	slices.SortFunc(f.IDs, func(a, b ids.UUID) int { return slices.Compare(a[:], b[:]) })
	for _, id := range slices.Compact(f.IDs) {
		c, err := t.Campaign(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return nil, false, err
		case f.has(&c):
			all = append(all, c)
		}
	}
	found, more := f.pageOf(all)
	return found, more, nil
}

// has reports whether a campaign passes the filter, its ids aside.
func (f *CampaignFilter) has(c *CampaignState) bool {
	return (f.VendorID == "" || f.VendorID == c.VendorID) && (f.Status == nil || *f.Status == c.Status) &&
		(f.Format == nil || *f.Format == c.Format) && (f.Active == nil || *f.Active == c.Active)
}

// pageOf returns the page of the filter, newest first, and whether others follow.
func (f *CampaignFilter) pageOf(all []CampaignState) (found []CampaignState, more bool) {
	slices.SortStableFunc(all, func(a, b CampaignState) int {
		return cmp.Or(cmp.Compare(b.CreatedMillis, a.CreatedMillis), slices.Compare(b.ID[:], a.ID[:]))
	})
	all = all[min(f.Offset, len(all)):]
	return all[:min(f.Limit, len(all))], len(all) > f.Limit
}

// Bids lists the bids of a campaign in the order of their creation; deleted ones are left out.
func (t Tenant) Bids(ctx context.Context, campaign ids.UUID, offset, limit int) ([]model.Bid, bool, error) {
	c, err := t.Campaign(ctx, campaign)
	if err != nil {
		return nil, false, err
	}
	got, err := read(t, t.groupOfCampaign(campaign), func(b shard.Queries) (p page[model.Bid]) {
		p.items, p.more = b.Bids(c.Ordinal, offset, limit)
		return p
	})
	return got.items, got.more, err
}

// Bid returns one bid that is not deleted, or ErrNotFound.
func (t Tenant) Bid(ctx context.Context, campaign, bid ids.UUID) (model.Bid, error) {
	c, err := t.Campaign(ctx, campaign)
	if err != nil {
		return model.Bid{}, err
	}
	return readOne(t, t.groupOfCampaign(campaign), func(b shard.Queries) (model.Bid, bool) {
		of, got, ok := b.Bid(bid)
		return got, ok && of == c.Ordinal && !got.Deleted
	})
}

// NamedBid is what an explanation adds to a bid that an auction knows by its ordinal.
type NamedBid struct {
	ID      ids.UUID
	Ceiling money.Micros // The amount of a bid whose campaign has a target return; 0: auctions know the amount.
}

// NamedBids maps ordinals of a campaign's bids, deleted ones included, to what they are called. Unknown ordinals are left
// out.
func (t Tenant) NamedBids(ctx context.Context, campaign ids.UUID, ordinals []uint32) (map[uint32]NamedBid, error) {
	c, err := t.Campaign(ctx, campaign)
	if err != nil {
		return nil, err
	}
	return read(t, t.groupOfCampaign(campaign), func(b shard.Queries) map[uint32]NamedBid {
		all := make(map[uint32]NamedBid, len(ordinals))
		for _, ordinal := range ordinals {
			bid, found := b.BidByOrdinal(c.Ordinal, ordinal)
			if !found {
				continue
			}
			x := NamedBid{ID: bid.ID}
			if c.HasBase() {
				x.Ceiling = bid.Amount
			}
			all[ordinal] = x
		}
		return all
	})
}
