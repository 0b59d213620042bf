// Package campaigns creates, changes and ends campaigns. The rules about campaigns are here and nowhere else:
// campaign-service, the agency operations, the vendors' dialog and the demo read a request into the terms of this
// package, and write its refusals at the places that the members have in their own bodies. It knows neither HTTP nor
// JSON.
//
// The rules that protect money are enforced by the state machine too (shard), because two nodes can check at the same
// moment.
package campaigns

import (
	"context"
	"errors"
	"fmt"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Creator is what Create needs of a marketplace's store. It is an interface because the tests of demo write to a recorder.
type Creator interface {
	Vendor(ctx context.Context, id string) (model.Vendor, error)
	CreateCampaign(ctx context.Context, c *model.Campaign, bids []model.Bid) error
}

// Draft is a campaign to create.
type Draft struct {
	// Campaign has the members without its id, times and group, which the store sets; EndMillis, TargetROASMilli and
	// Pacing follow from End, TargetROAS and Pacing.
	Campaign   model.Campaign
	Bids       []model.Bid
	End        *int64        // Unix milliseconds; nil: no end.
	TargetROAS string        // A decimal; empty: none.
	Pacing     *model.Pacing // How a total budget is spent; nil: as fast as possible.

	// Malformed says that the entry point has found violations of rules of its own: the draft is then refused with
	// *Invalid, which has the violations of the rules here as well, so that one answer lists all.
	Malformed bool
	// Complete checks what else the body names, when the vendor is known, and may fill in what follows from it; nil:
	// nothing. Its errors are returned as they are.
	Complete func(ctx context.Context, vendor *model.Vendor) error
}

// Create stores a campaign with its bids and fills in what the store assigns. *Invalid when members break rules,
// ErrNoVendor, an error of Complete, or an error of store.Tenant.CreateCampaign.
func Create(ctx context.Context, st Creator, d *Draft) error {
	if err := d.check(ctx, st); err != nil {
		return err
	}
	return created(st.CreateCampaign(Notifying(ctx, store.ChannelCampaignCreate), &d.Campaign, d.Bids))
}

// CreateShop is Create for the campaign of a vendor's shop, of which one runs at a time: store.ErrAlreadyExists while
// there is one that is not over.
func CreateShop(ctx context.Context, st store.Tenant, d *Draft, over func(*store.CampaignState) bool) error {
	if err := d.check(ctx, st); err != nil {
		return err
	}
	return created(st.CreateShopCampaign(ctx, &d.Campaign, d.Bids, over))
}

// created is what the store's answer to a new campaign means.
func created(err error) error {
	if errors.Is(err, store.ErrVendorDeleted) { // Since check has seen it.
		return ErrNoVendor
	}
	return refused(err)
}

// check checks a draft. The order is the interface's: members, rules over several members, then what they name.
func (d *Draft) check(ctx context.Context, st Creator) error {
	if found := d.faults(); len(found) > 0 || d.Malformed {
		return &Invalid{found}
	}
	if d.End != nil {
		d.Campaign.EndMillis = *d.End
	}
	if d.Campaign.Type == model.Exclusive {
		d.Campaign.Price = model.FirstPrice // A sponsorship pays what it bids.
	}
	if d.Pacing != nil {
		d.Campaign.Pacing = *d.Pacing
	}
	if d.TargetROAS != "" {
		d.Campaign.TargetROASMilli, _ = thousandths(d.TargetROAS) // faults has accepted it.
	}
	vendor, err := st.Vendor(ctx, d.Campaign.VendorID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return ErrNoVendor
	case err != nil:
		return err
	case d.Complete == nil:
		return nil
	}
	return d.Complete(ctx, &vendor)
}

// Price gives the bids without an amount the usual one: the upper end of what most bids of the marketplace are worth,
// or the budget if that is less.
func (d *Draft) Price(ctx context.Context, st store.Tenant) error {
	usual := money.Micros(0)
	for i := range d.Bids {
		if d.Bids[i].Amount != 0 {
			continue
		}
		if usual == 0 {
			r, err := st.BidRange(ctx)
			if err != nil {
				return err
			}
			usual = min(Amount(r.High, st.Settings().CurrencyExponent), d.Campaign.Budget)
		}
		d.Bids[i].Amount = usual
	}
	return nil
}

// ListingTriggers make a listing bid found by auctions that name its product, and by those of the product's categories.
func ListingTriggers(product string) []model.Trigger {
	return []model.Trigger{{Kind: model.TriggerProduct, Value: product}, {Kind: model.TriggerCategories, Value: product}}
}

// ListingBid is a bid on a product with the triggers that listings have by themselves, and without an amount.
func ListingBid(product string) model.Bid {
	return model.Bid{Target: product, TargetType: model.TargetProduct, Active: true, Triggers: ListingTriggers(product)}
}

// Amount converts minor units. REQUIRES: they are in the bounds of amounts of the interface, which the schemas check.
func Amount(minor int64, exponent uint8) money.Micros {
	m, err := money.FromMinor(minor, exponent)
	if err != nil {
		panic(fmt.Sprintf("the bounds of amounts (%d) must lie in those of money", minor))
	}
	return m
}
