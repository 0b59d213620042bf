package store

import (
	"context"
	"maps"
	"math"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// Users are counted exactly, by ranges of their hashes: for one range after the other all groups and days are read, and
// every user of the range is remembered until the range is done. A user whose touches lie in several groups, or on several
// days, is therefore counted once. A range begins as all users that are left. When it has too many it ends at an earlier
// user, and the users behind that are dropped and read again with the next range; what was read of the others stays.

// reachEntriesMax is how many pairs of a user and a placement, or of a user and all placements, are remembered. BOUND:
// some 60 MB. A million users, each with one placement, take some four ranges.
const reachEntriesMax = 1 << 20

// reachCount is a Reach that is being counted.
type reachCount struct {
	tenant  Tenant
	span    cells
	touched []ids.Group                   // Those that may have touches of the ads.
	wanted  map[ids.Group]map[uint32]bool // Ordinals of campaigns. Nil: all.
	first   uint32                        // The first UTC day of the span,
	last    uint32                        // its last one,
	today   uint32                        // and the last one that may have purchases.

	entriesMax, purchasesMax int // reachEntriesMax and reachPurchasesMax; tests set less.

	users shard.UserRange
	seen  map[reachKey]reachEntry // Of the users of the range.
	out   Reach
}

// reachKey names a row of a user: allPlacements, or 1 more than the index of a placement.
type reachKey struct {
	user uint64
	row  uint16
}

const allPlacements = 0

// reachEntry is what a user did. A user has at most shard.TouchesMax touches of a kind, day and group, so numbers fit.
type reachEntry struct {
	impressions, clicks uint32
	bought              bool
}

func (t Tenant) newReachCount(ctx context.Context, of ReachOf, d Dates) (x *reachCount, err error) {
	x = &reachCount{
		tenant: t, touched: t.store.dataGroups(), entriesMax: reachEntriesMax, purchasesMax: reachPurchasesMax,
		seen: map[reachKey]reachEntry{},
	}
	if x.span, err = t.cells(d); err != nil {
		return nil, err
	}
	today := t.now() / dayMillis
	x.today = uint32(today + 1) // Days fit 32 bits. The clock of a group may be ahead of this node's.
	// A cell is the begin of a local hour, so its events may be of the next UTC day.
	x.first, x.last = dayOfCell(x.span.from), min(dayOfCell(x.span.to+hourMillis/cellMillis), x.today)
	x.out.BuyersKept = int64(x.first) > today-shard.PurchaseDays
	if of != (ReachOf{}) {
		err = x.choose(ctx, of)
	}
	return x, err
}

// dayOfCell returns the UTC day in which a cell begins.
func dayOfCell(cell uint32) uint32 { return uint32(int64(cell) * cellMillis / dayMillis) }

// choose finds the campaigns whose ads are counted. ErrNotFound for an unknown campaign, and for an unknown vendor without
// campaigns.
func (x *reachCount) choose(ctx context.Context, of ReachOf) error {
	x.wanted, x.touched = map[ids.Group]map[uint32]bool{}, nil
	if !of.Campaign.IsZero() {
		c, err := x.tenant.Campaign(ctx, of.Campaign)
		x.want(x.tenant.groupOfCampaign(of.Campaign), c.Ordinal)
		return err
	}
	for _, g := range x.tenant.store.dataGroups() {
		err := x.tenant.readInSteps(ctx, g, func(b *longState) {
			for _, status := range []*model.Status{nil, new(model.Terminated)} {
				f := shard.CampaignFilter{VendorID: of.VendorID, Status: status}
				campaigns, _ := b.Campaigns(x.tenant.marketplace, &f, 0, math.MaxInt32)
				for i := range campaigns {
					x.want(g, campaigns[i].Ordinal)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	if len(x.wanted) > 0 {
		return nil
	}
	_, err := x.tenant.Vendor(ctx, of.VendorID)
	return err
}

func (x *reachCount) want(g ids.Group, campaign uint32) {
	if x.wanted[g] == nil {
		x.wanted[g] = map[uint32]bool{}
		x.touched = append(x.touched, g)
	}
	x.wanted[g][campaign] = true
}

// counts reports whether a touch, or an item that was credited to it, is of the ads and days.
func (x *reachCount) counts(g ids.Group, campaign, cell uint32) bool {
	return cell >= x.span.from && cell < x.span.to && (x.wanted == nil || x.wanted[g][campaign])
}

// count counts the users of one range after the other.
func (x *reachCount) count(ctx context.Context) error {
	x.users = shard.UserRange{First: 0, Last: math.MaxUint64}
	for {
		if err := x.readTouches(ctx); err != nil {
			return err
		}
		if err := x.readBuyers(ctx); err != nil {
			return err
		}
		x.sum()
		if x.users.Last == math.MaxUint64 {
			return nil
		}
		x.users = shard.UserRange{First: x.users.Last + 1, Last: math.MaxUint64}
	}
}

// readTouches reads the touches of the users of the range in all groups.
func (x *reachCount) readTouches(ctx context.Context) error {
	for _, g := range x.touched {
		err := x.tenant.readInSteps(ctx, g, func(b *longState) {
			for day := x.first; day <= x.last && !b.stopped(); day++ {
				x.readDay(b, g, day)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *reachCount) readDay(b *longState, g ids.Group, day uint32) {
	var same shard.Touch // The user and kind of the touches that follow each other.
	n := 0
	b.TouchesOfUsers(x.tenant.marketplace, day, x.users, func(t *shard.Touch) bool {
		if t.UserHash > x.users.Last {
			return false
		}
		if n++; t.UserHash != same.UserHash || t.Kind != same.Kind {
			same, n = *t, 1
		}
		x.out.Full = x.out.Full || n >= shard.TouchesMax
		if !x.counts(g, t.Campaign, t.Cell) {
			return true
		}
		did := reachEntry{clicks: 1}
		if t.Kind == event.Impression {
			did = reachEntry{impressions: 1}
		}
		x.add(t.UserHash, t.Place.Placement(), did)
		return true
	})
}

// add adds what a user did. Users behind the range are those that it has dropped.
func (x *reachCount) add(user uint64, placement uint8, did reachEntry) {
	if user > x.users.Last {
		return
	}
	for _, row := range [...]uint16{allPlacements, uint16(placement) + 1} {
		e := x.seen[reachKey{user, row}]
		e.impressions += did.impressions
		e.clicks += did.clicks
		e.bought = e.bought || did.bought
		x.seen[reachKey{user, row}] = e
	}
	for halved := true; halved && len(x.seen) > x.entriesMax; {
		halved = x.halve()
	}
}

// halve ends the range in the middle of the users that were found, and drops those behind. It reports false when there is
// only one user, who has a few hundred rows at most.
func (x *reachCount) halve() bool {
	least, most := uint64(math.MaxUint64), uint64(0)
	for key := range x.seen { // order: a minimum and a maximum.
		least, most = min(least, key.user), max(most, key.user)
	}
	if least == most {
		return false
	}
	x.users.Last = least + (most-least)/2
	maps.DeleteFunc(x.seen, func(key reachKey, _ reachEntry) bool { return key.user > x.users.Last })
	return true
}

// sum adds the users of the range to the rows, and forgets them.
func (x *reachCount) sum() {
	for key, e := range x.seen { // order: sums.
		row := &x.out.ReachSum
		if key.row != allPlacements {
			row = &x.out.ByPlacement[key.row-1]
		}
		row.Impressions += int64(e.impressions)
		row.Clicks += int64(e.clicks)
		row.Reached += int64(min(e.impressions, 1))
		row.Clicked += int64(min(e.clicks, 1))
		if e.bought {
			row.Bought++
		}
	}
	clear(x.seen)
}
