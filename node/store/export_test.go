package store

import (
	"context"

	"github.com/gavel-ads/gavel/shard"
)

// UsersOf is usersOf.
func (s *Store) UsersOf(p *shard.OpenPurchase) ([]uint64, error) { return s.usersOf(p) }

// ReachWithin is Reach that remembers fewer users, and reads fewer purchases, at a time.
func (t Tenant) ReachWithin(ctx context.Context, of ReachOf, d Dates, most int) (Reach, error) {
	x, err := t.newReachCount(ctx, of, d)
	if err != nil {
		return Reach{}, err
	}
	x.entriesMax, x.purchasesMax = most, min(most, x.purchasesMax)
	err = x.count(ctx)
	return x.out, err
}

// BreakdownWithin is VendorBreakdown of all vendors that has fewer values.
func (t Tenant) BreakdownWithin(ctx context.Context, d Dates, by Dimension, most int) ([]BreakdownRow, error) {
	return t.vendorBreakdown(ctx, "", d, newBreakdown(by, most))
}
