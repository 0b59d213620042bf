package store

import (
	"context"
	"time"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/ids"
)

// ReachOf selects the ads whose reach is counted: those of a campaign, or else of a vendor, or else all of the marketplace.
type ReachOf struct {
	Campaign ids.UUID
	VendorID string
}

// ReachSum says how many different users saw, clicked and bought from ads, and how often.
type ReachSum struct {
	Reached     int64 // Users with an impression.
	Clicked     int64 // Users with a click.
	Bought      int64 // Users with a purchase of which an item was credited to the ads, and did not come back whole.
	Impressions int64 // Of the users with an impression.
	Clicks      int64 // Of the users with a click.
}

// reachRows is one row for all placements, and one for each value of a token's placement index.
const reachRows = 1 + 1<<8

// Reach counts different users.
type Reach struct {
	ReachSum
	ByPlacement [reachRows - 1]ReachSum // By the placementId of the auctions, 0 for none.
	// BuyersKept is false when purchases of the first days are not kept any more. Then no Bought is known.
	BuyersKept bool
	// Full says that the group of some user had all touches of a day that it keeps of the user (shard.TouchesMax), so that
	// further ones may not be counted.
	Full bool
}

// Reach counts the different users of ads on days, by the touches that are stored. A user who was erased has none
// left. REQUIRES: d does not begin before ReachFirstDay.
func (t Tenant) Reach(ctx context.Context, of ReachOf, d Dates) (Reach, error) {
	x, err := t.newReachCount(ctx, of, d)
	if err != nil {
		return Reach{}, err
	}
	err = x.count(ctx)
	return x.out, err
}

// ReachFirstDay returns the first local day of which all touches are kept, and for how many UTC days, the current one
// included, the marketplace keeps them. After the marketplace has prolonged the time, fewer days are kept for a while.
func (t Tenant) ReachFirstDay() (first string, kept int, err error) {
	settings := t.Settings()
	kept = TouchDays(&settings)
	day := max(0, t.now()/dayMillis-int64(kept)+1)
	for _, g := range t.store.dataGroups() {
		from, err := read(t, g, func(b shard.Queries) int64 { return int64(b.TouchesFrom(t.marketplace)) })
		if err != nil {
			return "", kept, err
		}
		day = max(day, from)
	}
	return firstLocalDay(time.UnixMilli(day*dayMillis), t.Location()), kept, nil
}

// firstLocalDay returns the first local day that does not begin before an instant.
func firstLocalDay(at time.Time, zone *time.Location) string {
	y, m, d := at.In(zone).Date()
	if time.Date(y, m, d, 0, 0, 0, 0, zone).Before(at) {
		d++
	}
	return time.Date(y, m, d, 12, 0, 0, 0, time.UTC).Format(time.DateOnly)
}
