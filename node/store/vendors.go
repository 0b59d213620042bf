package store

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// PutVendors adds or replaces vendors, all or nothing. A vendor's account and default wallet follow from its id, so
// nothing else has to be written, unless the vendor was deleted: then its campaigns may be switched on again.
func (t Tenant) PutVendors(ctx context.Context, v []model.Vendor) error {
	records := make([]command.Record, len(v))
	names := make([]string, len(v))
	for i := range v {
		names[i] = v[i].ID
		records[i] = command.Record{
			Kind: command.RecordVendor, Marketplace: t.marketplace, ID: v[i].ID,
			Value: command.AppendVendor(nil, &v[i]), Expect: command.Any,
		}
	}
	if err := t.putRecords(ctx, records); err != nil {
		return err
	}
	return t.markVendors(ctx, names, func(id string, marked bool) (bool, error) {
		if !marked {
			return false, nil
		}
		return t.isDeleted(ctx, id)
	})
}

// DeleteVendors removes vendors; unknown ids are ignored. Their wallets stay, and their campaigns, which are switched
// off and cannot be switched on: a catalog that is sent anew brings vendors back, and a terminated campaign could not
// follow.
//
// A vendor's group is told before the catalog, so a deletion that fails halfway leaves a vendor whose campaigns are
// off, and is completed by its repeat; and once more after it, because somebody else may have brought the vendor back
// in between.
func (t Tenant) DeleteVendors(ctx context.Context, names []string) error {
	known := map[string]bool{}
	always := func(id string, marked bool) (bool, error) {
		missing, err := t.isDeleted(ctx, id)
		known[id] = known[id] || marked || !missing
		return known[id], err
	}
	if err := t.markVendors(ctx, names, always); err != nil {
		return err
	}
	records := make([]command.Record, len(names))
	for i, id := range names {
		if err := t.deactivateCampaigns(ctx, id); err != nil {
			return err
		}
		records[i] = command.Record{Kind: command.RecordVendor, Marketplace: t.marketplace, ID: id, Expect: command.Any}
	}
	if err := t.putRecords(ctx, records); err != nil {
		return err
	}
	err := t.markVendors(ctx, names, func(id string, _ bool) (bool, error) {
		if !known[id] {
			return false, nil
		}
		return t.isDeleted(ctx, id)
	})
	if err != nil {
		return err
	}
	for _, id := range names { // Those that were made meanwhile, where the group is not told yet.
		if err := t.deactivateCampaigns(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// isDeleted reports whether the catalog has no such vendor.
func (t Tenant) isDeleted(ctx context.Context, id string) (bool, error) {
	_, err := t.Vendor(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return false, err
}

// markVendors marks vendors in their groups as deleted, or takes the mark away, as deleted says. It is asked after
// the mark was read, and the mark is written only if it has not changed since: so whatever deleted has read is the
// newest for this vendor, or whoever writes after it asks again. A vendor that stays deleted gets a new mark, because
// somebody may be about to take away the old one.
func (t Tenant) markVendors(ctx context.Context, names []string, deleted func(id string, marked bool) (bool, error)) error {
	of := map[ids.Group][]string{}
	for _, id := range names {
		of[t.groupOf(id)] = append(of[t.groupOf(id)], id)
	}
	for _, g := range slices.Sorted(maps.Keys(of)) {
		may, err := t.reached(g, command.LevelCampaignRules)
		if err != nil {
			return err
		}
		if !may {
			continue
		}
		if err := retryOnConflict(func() error { return t.markVendorsOf(ctx, g, of[g], deleted) }); err != nil {
			return err
		}
	}
	return nil
}

// markVendorsOf is one attempt of markVendors for the vendors of a group.
func (t Tenant) markVendorsOf(ctx context.Context, g ids.Group, names []string, deleted func(id string, marked bool) (bool, error)) error {
	marks, err := read(t, g, func(b shard.Queries) (all []ids.UUID) {
		for _, id := range names {
			all = append(all, b.Deletion(t.marketplace, id))
		}
		return all
	})
	if err != nil {
		return err
	}
	p := command.MarkVendors{Marketplace: t.marketplace}
	for i, id := range names {
		x := command.VendorMark{VendorID: id, Expect: marks[i]}
		is, err := deleted(id, !marks[i].IsZero())
		if err != nil {
			return err
		}
		if is {
			_, _ = rand.Read(x.Deletion[:]) // Never fails: it ends the process instead.
		}
		if x.Expect != x.Deletion {
			p.Marks = append(p.Marks, x)
		}
	}
	if len(p.Marks) == 0 {
		return nil
	}
	_, err = t.propose(ctx, g, command.AppendMarkVendors(nil, t.now(), &p))
	return err
}

// deactivateCampaigns switches off the campaigns of a vendor.
func (t Tenant) deactivateCampaigns(ctx context.Context, vendorID string) error {
	running, err := read(t, t.groupOf(vendorID), func(b shard.Queries) []CampaignState {
		all, _ := b.Campaigns(t.marketplace, &shard.CampaignFilter{VendorID: vendorID, Active: new(true)}, 0, math.MaxInt32)
		return all
	})
	if err != nil {
		return err
	}
	for i := range running {
		err := t.PatchCampaign(ctx, &command.PatchCampaign{Campaign: running[i].ID, Active: new(false)})
		if err != nil && !errors.Is(err, ErrWrongState) { // It was terminated meanwhile.
			return err
		}
	}
	return nil
}
