package store

import (
	"context"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// Experiment compares the users whose auctions an experiment changed (market.HeldOut) with those of the other arm
// (market.Shown).
type Experiment struct {
	model.Experiment
	Arms [market.Arms]ExperimentArm
	// Cut says that a group has not stored all users of some day.
	Cut bool
}

// ExperimentArm sums what the users of an arm did while the experiment ran.
type ExperimentArm struct {
	Users       UserSum // Users with an impression or a click.
	Impressions UserSum
	Clicks      UserSum
	Spent       UserSum // What was charged for their interactions, in micros, before reversals.
	Buyers      UserSum // Users with a purchase.
	Amount      UserSum // Of their purchases, less what came back, in micros.
	Purchases   int64
	Quantity    int64
}

// UserSum sums a number over users. Both are floats, because they are estimates about users and never money that is charged.
type UserSum struct {
	Users   int64 // With more than 0.
	Total   float64
	Squares float64 // The sum of the square of each user's number.
}

func (s *UserSum) add(x float64) {
	if x > 0 {
		s.Users++
		s.Total += x
		s.Squares += x * x
	}
}

// Experiment compares the arms of the marketplace's experiment, or of its last one, from its start to now or to its end, as
// far as users are stored: 62 days. Percent is 0 before the first experiment. A user without an interaction and without a
// purchase is in no sum; both arms are the same share of all users, so that sums can be compared.
func (t Tenant) Experiment(ctx context.Context) (out Experiment, err error) {
	settings, err := t.StoredSettings(ctx)
	if err != nil {
		return out, err
	}
	if out.Experiment = settings.Experiment; out.Percent == 0 {
		return out, nil
	}
	x := participation{tenant: t, e: &out.Experiment, arms: market.ArmsOf(&settings), users: map[uint64]*participated{}}
	if x.nowMillis, err = t.store.clockOfAll(); err != nil {
		return out, err
	}
	if out.Cut, err = x.interacted(ctx); err != nil {
		return out, err
	}
	if err = x.bought(ctx); err != nil {
		return out, err
	}
	x.sum(&out)
	return out, nil
}

// participation is an Experiment that is being computed.
type participation struct {
	tenant    Tenant
	e         *model.Experiment
	arms      market.Holdout
	users     map[uint64]*participated
	nowMillis int64
}

// participated is what a user did.
type participated struct {
	shard.Participant
	purchases, quantity int64
	amount              float64
}

// days returns the UTC days of the experiment that are stored. Events may be reported late, so those of the last day may
// still come.
func (x *participation) days() (first, last uint32) {
	end := x.nowMillis
	if x.e.EndMillis != 0 {
		end = min(end, x.e.EndMillis)
	}
	oldest := max(0, x.nowMillis/dayMillis-enrolmentDays+1)
	return uint32(max(x.e.StartMillis/dayMillis, oldest)), uint32(max(end/dayMillis, 0)) // Days fit 32 bits.
}

// user returns a user of one of the arms.
func (x *participation) user(user uint64) *participated {
	u := x.users[user]
	if u == nil {
		u = &participated{}
		x.users[user] = u
	}
	return u
}

// interacted reads what the users' ads did.
func (x *participation) interacted(ctx context.Context) (cut bool, err error) {
	first, last := x.days()
	err = x.tenant.allGroups(ctx, func(b *longState) {
		for day := first; day <= last && !b.stopped(); day++ {
			full := b.Participants(x.tenant.marketplace, day, x.e.StartMillis, func(p *shard.Participant) bool {
				u := x.user(p.User)
				u.Impressions, u.Clicks = u.Impressions+p.Impressions, u.Clicks+p.Clicks
				u.Spent = min(u.Spent, money.MaxMicros-p.Spent) + p.Spent
				return len(x.users) <= incrementalUsersMax && !b.stopped()
			})
			cut = cut || full
		}
	})
	return cut, checkCompared(len(x.users), err)
}

// bought adds the purchases of the users. A purchase may be reported late, so all days since the start are read.
func (x *participation) bought(ctx context.Context) error {
	first, _ := x.days()
	wanted := func(user uint64) bool { return x.arms.Arm(user) != market.Unmeasured }
	err := x.tenant.allGroups(ctx, func(b *longState) {
		for day := int64(first); day <= x.nowMillis/dayMillis && !b.stopped(); day++ {
			b.PurchasesOfBuyers(x.tenant.marketplace, uint32(day), wanted, func(p *command.Purchase) bool { // Days fit 32 bits.
				x.add(p)
				return len(x.users) <= incrementalUsersMax && !b.stopped()
			})
		}
	})
	return checkCompared(len(x.users), err)
}

// add adds a purchase to its buyer, if it was while the experiment ran.
func (x *participation) add(p *command.Purchase) {
	if p.OccurredMillis < x.e.StartMillis || x.e.EndMillis != 0 && p.OccurredMillis >= x.e.EndMillis {
		return
	}
	quantity, amount := int64(0), 0.0
	for i := range p.Items {
		item := &p.Items[i]
		if left := item.Quantity - item.Returned; left > 0 {
			quantity = addUp(quantity, left)
			amount += float64(salesLeft(item.Quantity, item.Returned, item.UnitPrice).Amount)
		}
	}
	if quantity > 0 {
		u := x.user(p.Buyer)
		u.purchases, u.quantity, u.amount = u.purchases+1, addUp(u.quantity, quantity), u.amount+amount
	}
}

// sum sums the users by arm.
func (x *participation) sum(out *Experiment) {
	for user, u := range x.users { // order: sums of whole numbers that floats hold exactly; squares differ far below two decimals of a lift.
		a := &out.Arms[x.arms.Arm(user)]
		a.Users.add(float64(min(u.Impressions+u.Clicks, 1)))
		a.Impressions.add(float64(u.Impressions))
		a.Clicks.add(float64(u.Clicks))
		a.Spent.add(float64(u.Spent))
		a.Buyers.add(float64(min(u.purchases, 1)))
		a.Amount.add(u.amount)
		a.Purchases += u.purchases
		a.Quantity = addUp(a.Quantity, u.quantity)
	}
}
