package store

import (
	"context"
	"fmt"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/attribution"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
)

// An ArmSum sums what the users of an arm of a campaign's measurement have bought. Sums and squares of money are floats,
// because they are estimates about users and never money that is charged.
type ArmSum struct {
	Users     int64
	Buyers    int64 // Users with at least one purchase.
	Purchases int64
	Quantity  int64
	Amount    float64 // Micros.
	Squares   float64 // The sum over the users of the square of each one's amount, in micros squared.
}

// Incrementality compares the users who see a campaign with those held out.
type Incrementality struct {
	Percent    uint8
	WindowDays int
	Arms       [market.Arms]ArmSum // Of market.Shown and market.HeldOut.
	// Open is how many users' windows are not over, so that purchases of theirs may follow.
	Open int64
	// Cut says that a group has not stored all users of some day.
	Cut bool
}

// incrementalUsersMax bounds the users of a comparison. BOUND: some 100 MB while it is computed, as background work.
const incrementalUsersMax = 1 << 20

// enrolmentDays is how many UTC days, the current one included, enrolments and purchases are kept.
const enrolmentDays = 62

// Incrementality compares the users of a campaign who were enrolled first on days of d, by their purchases in the
// attribution window of the campaign's format, the longer one of clicks and impressions, after their enrolment. It counts
// items of the campaign's vendor and of the products that its bids target, less what came back, whatever they were
// credited to.
//
// A user counts at the first enrolment of all stored ones, also when that is before d. Otherwise those who reach a frequency
// cap before d would be missing among the users who see the campaign, and not among those held out.
func (t Tenant) Incrementality(ctx context.Context, campaign ids.UUID, d Dates) (out Incrementality, err error) {
	c, err := t.Campaign(ctx, campaign)
	if err != nil {
		return out, err
	}
	span, err := t.cells(d)
	if err != nil {
		return out, err
	}
	settings := t.Settings()
	w := attribution.RulesOf(settings.Attribution).Windows[c.Format]
	out.Percent, out.WindowDays = c.HoldoutPercent, int(max(w.Click, w.View))
	if c.HoldoutPercent == 0 {
		return out, nil
	}
	x := comparison{
		tenant: t, campaign: campaign, vendor: c.VendorID, products: map[string]bool{}, users: map[uint64]*compared{},
		windowMillis: int64(out.WindowDays) * dayMillis,
	}
	if x.nowMillis, err = t.store.clockOfAll(); err != nil {
		return out, err
	}
	if out.Cut, err = x.enrolled(ctx, int64(span.to)*cellMillis); err != nil {
		return out, err
	}
	from := int64(span.from) * cellMillis
	for user, u := range x.users { // order: every user is decided alone.
		if u.millis < from {
			delete(x.users, user)
		}
	}
	if err = x.bought(ctx); err != nil {
		return out, err
	}
	x.sum(&out)
	return out, nil
}

// comparison is an Incrementality that is being computed.
type comparison struct {
	tenant       Tenant
	campaign     ids.UUID
	vendor       string
	products     map[string]bool // The targets of a listing's bids.
	users        map[uint64]*compared
	windowMillis int64
	nowMillis    int64
}

// compared is a user and what the user has bought in the window.
type compared struct {
	millis    int64 // The first enrolment.
	arm       market.Arm
	purchases int64
	quantity  int64
	amount    float64
}

// enrolled reads the users who were enrolled before a time, and the products of the campaign.
func (x *comparison) enrolled(ctx context.Context, toMillis int64) (cut bool, err error) {
	last := max(0, min(toMillis, x.nowMillis+dayMillis)) / dayMillis
	first := max(0, x.nowMillis/dayMillis-enrolmentDays+1)
	err = x.tenant.allGroups(ctx, func(b *longState) {
		c, found := b.Campaign(x.campaign)
		if !found {
			return
		}
		if c.Format == model.Listing {
			x.addProducts(b, c.Ordinal)
		}
		for day := first; day <= last && !b.stopped(); day++ {
			full := b.Enrolments(x.campaign, uint32(day), func(e *shard.Enrolled) bool { // Days fit 32 bits.
				if x.users[e.User] == nil && e.Arm != market.Unmeasured && e.Millis < toMillis {
					x.users[e.User] = &compared{millis: e.Millis, arm: e.Arm}
				}
				return len(x.users) <= incrementalUsersMax && !b.stopped()
			})
			cut = cut || full
		}
	})
	return cut, checkCompared(len(x.users), err)
}

// checkCompared returns the error of a read, or that it found more users than are compared.
func checkCompared(users int, err error) error {
	if err == nil && users > incrementalUsersMax {
		return fmt.Errorf("%w: more than %d users are compared", ErrTooMany, incrementalUsersMax)
	}
	return err
}

func (x *comparison) addProducts(b *longState, campaign uint32) {
	const step = 500
	for offset, more := 0, true; more && !b.stopped(); offset += step {
		var bids []model.Bid
		bids, more = b.Bids(campaign, offset, step)
		for i := range bids {
			x.products[bids[i].Target] = true
		}
	}
}

// bought adds the purchases of the users. A purchase may be reported late, so all days from the first enrolment on are read.
func (x *comparison) bought(ctx context.Context) error {
	first := x.nowMillis
	for _, u := range x.users { // order: a minimum.
		first = min(first, u.millis)
	}
	wanted := func(user uint64) bool { return x.users[user] != nil }
	return x.tenant.allGroups(ctx, func(b *longState) {
		for day := first / dayMillis; day <= x.nowMillis/dayMillis && len(x.users) > 0 && !b.stopped(); day++ {
			b.PurchasesOfBuyers(x.tenant.marketplace, uint32(day), wanted, func(p *command.Purchase) bool { // Days fit 32 bits.
				x.add(x.users[p.Buyer], p)
				return !b.stopped()
			})
		}
	})
}

// add adds a purchase to its buyer, as far as it is in the window and of the campaign's products.
func (x *comparison) add(u *compared, p *command.Purchase) {
	if u == nil || p.OccurredMillis < u.millis || p.OccurredMillis >= u.millis+x.windowMillis {
		return
	}
	items := 0
	for i := range p.Items {
		item := &p.Items[i]
		left := item.Quantity - item.Returned
		if left <= 0 || item.VendorID != x.vendor && !x.products[item.ProductID] {
			continue
		}
		items++
		u.quantity = addUp(u.quantity, left)
		u.amount += float64(salesLeft(item.Quantity, item.Returned, item.UnitPrice).Amount)
	}
	if items > 0 {
		u.purchases++
	}
}

// sum sums the users by arm.
func (x *comparison) sum(out *Incrementality) {
	for _, u := range x.users { // order: sums. Amounts below 2^53 micros are exact, and the squares differ far below two decimals of a lift.
		a := &out.Arms[u.arm]
		a.Users++
		a.Purchases += u.purchases
		a.Quantity = addUp(a.Quantity, u.quantity)
		a.Amount += u.amount
		a.Squares += u.amount * u.amount
		if u.purchases > 0 {
			a.Buyers++
		}
		if u.millis+x.windowMillis > x.nowMillis {
			out.Open++
		}
	}
}
