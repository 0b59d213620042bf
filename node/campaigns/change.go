package campaigns

import (
	"context"
	"errors"

	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// Changes are the members of a campaign that a request changes; nil members stay.
type Changes struct {
	// Members has them without TargetROASMilli, which follows from TargetROAS, and without what names the campaign.
	Members    command.PatchCampaign
	TargetROAS string // A decimal; empty: it stays, unless NoROAS is set.
	NoEnd      bool   // The end date is removed. An end of 0 in Members is a date, long past.
	NoROAS     bool   // The target is removed.
	By         string // Who decides about the status, when that changes.

	Malformed bool // As that of a Draft.
	// Sees returns the error for a campaign that the caller must not change; nil: it may change every one.
	Sees func(now *store.CampaignState) error
	// Complete checks what else the body names and adds what follows from it; nil: nothing. It may be called several
	// times.
	Complete func(ctx context.Context, now *store.CampaignState, p *command.PatchCampaign) error
}

// Patch changes a campaign. The changes are checked against what the campaign is when they are applied: of two
// requests at the same moment, on whatever nodes, both hold, member by member, and of one member the later. *Invalid
// when members break rules, ErrTerminated, ErrReviewed, ErrVendorDeleted, errors of Sees and Complete, or an error of
// store.Tenant.ChangeCampaign.
func Patch(ctx context.Context, st store.Tenant, id ids.UUID, c *Changes) error {
	return refused(st.ChangeCampaign(Notifying(ctx, store.ChannelCampaignUpdate), id, func(now *store.CampaignState) (*command.PatchCampaign, error) {
		return c.check(ctx, st, now)
	}))
}

// check checks the changes against the campaign as it is and returns them in the engine's terms.
func (c *Changes) check(ctx context.Context, st store.Tenant, now *store.CampaignState) (*command.PatchCampaign, error) {
	if c.Sees != nil {
		if err := c.Sees(now); err != nil {
			return nil, err
		}
	}
	if found := c.faults(&now.Campaign); len(found) > 0 || c.Malformed {
		return nil, &Invalid{found}
	}
	if err := c.allowed(ctx, st, now); err != nil {
		return nil, err
	}
	p := c.Members // A copy: this may run several times.
	p.Campaign = now.ID
	if c.TargetROAS != "" {
		milli, _ := thousandths(c.TargetROAS) // faults has accepted it.
		p.TargetROASMilli = &milli
	}
	if c.NoROAS {
		p.TargetROASMilli = new(uint32(0))
	}
	if c.NoEnd {
		p.EndMillis = new(int64(0))
	}
	if p.Status != nil {
		p.StatusUpdatedBy = &c.By
	}
	if p.Period != nil && *p.Period != model.Total && now.Pacing != model.PacingFast {
		p.Pacing = new(model.PacingFast) // The choice ends with the total budget.
	}
	if c.Complete == nil {
		return &p, nil
	}
	return &p, c.Complete(ctx, now, &p)
}

// allowed checks the state: what a terminated campaign may not do any more, where a status leads, and who may be
// active.
func (c *Changes) allowed(ctx context.Context, st store.Tenant, now *store.CampaignState) error {
	p := &c.Members
	if now.Status == model.Terminated {
		return ErrTerminated
	}
	if p.Status != nil && *p.Status == model.Pending && now.Status != model.Pending {
		return ErrReviewed
	}
	if p.Active != nil && *p.Active {
		_, err := st.Vendor(ctx, now.VendorID)
		if errors.Is(err, store.ErrNotFound) {
			return ErrVendorDeleted
		}
		return err
	}
	return nil
}

// Delete terminates a campaign; its reports stay. Repeating it is no error: the outcome is the same. sees, unless it
// is nil, returns the error for a campaign that the caller must not delete. ErrNotFound of the store for one that
// does not exist.
func Delete(ctx context.Context, st store.Tenant, id ids.UUID, by string, sees func(now *store.CampaignState) error) error {
	if sees != nil {
		now, err := st.Campaign(ctx, id)
		if err == nil {
			err = sees(&now)
		}
		if err != nil {
			return err
		}
	}
	p := command.PatchCampaign{Campaign: id, Status: new(model.Terminated), StatusUpdatedBy: &by}
	return st.PatchCampaign(Notifying(ctx, store.ChannelCampaignDelete), &p)
}
