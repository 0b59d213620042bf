package shardtest

import (
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
)

// enrolled is a user of a campaign on a day in the model.
type enrolled struct {
	market   uint16
	campaign uint32
	user     uint64
	day      int64
}

// enrolmentDays is how many days enrolments are kept.
const enrolmentDays = 62

// Enrol applies an EnrolUsers.
func (m *Model) Enrol(x *command.EnrolUsers) command.Result {
	for _, e := range x.Users {
		c := m.byOrdinal(e.Campaign)
		if c == nil || e.User == 0 || e.Percent == 0 || c.HoldoutPercent != e.Percent {
			continue
		}
		key := enrolled{c.Marketplace, e.Campaign, e.User, e.Millis / dayMillis}
		first := max(m.Now/dayMillis-enrolmentDays+1, m.touchesFrom[c.Marketplace], m.firstTouchDay(c.Marketplace))
		before, known := m.enrolled[key]
		onDay := 0
		for other := range m.enrolled {
			if other.day == key.day {
				onDay++
			}
		}
		if key.day < first || key.day > m.Now/dayMillis+1 || known && before.Percent == e.Percent || !known && onDay >= m.EnrolmentsMax {
			continue
		}
		m.enrolled[key] = e
	}
	return command.Result{}
}

// purgeEnrolments drops what is not kept any more.
func (m *Model) purgeEnrolments() {
	maps.DeleteFunc(m.enrolled, func(e enrolled, _ command.Enrolment) bool {
		return e.day < max(m.Now/dayMillis-enrolmentDays+1, m.touchesFrom[e.market])
	})
}

// compareEnrolments compares the users of the measurements of all campaigns.
func (m *Model) compareEnrolments(b shard.Queries, fail func(string, ...any)) {
	for _, c := range m.Campaigns {
		var got, want []shard.Enrolled
		holdout := market.HoldoutOf(&c.Campaign)
		first := max(0, m.Now/dayMillis-enrolmentDays+1)
		if c.HoldoutPercent == 0 {
			first = m.Now / dayMillis // The answer is the same for every day.
		}
		for day := first; day <= m.Now/dayMillis+1; day++ {
			b.Enrolments(c.ID, uint32(day), func(e *shard.Enrolled) bool { // Days fit 32 bits.
				got = append(got, *e)
				return true
			})
			for user := range uint64(linkedUsers) {
				e, known := m.enrolled[enrolled{c.Marketplace, c.Ordinal, user, day}]
				if known && e.Percent == c.HoldoutPercent {
					want = append(want, shard.Enrolled{User: user, Arm: holdout.Arm(user), Millis: e.Millis})
				}
			}
		}
		if !slices.Equal(got, want) {
			fail("campaign %d has the enrolments %+v, not %+v", c.Ordinal, got, want)
		}
	}
}

// enrol enrols users of some campaigns, one of which does not exist.
func (g *Generator) enrol() Step {
	x := command.EnrolUsers{}
	for range g.choose(4, "enrolments") {
		e := command.Enrolment{
			Campaign: uint32(g.choose(len(g.Model.Campaigns)+2, "campaign")), User: uint64(g.choose(linkedUsers, "user")),
			Percent: uint8(g.choose(2, "percent") * 50), Millis: g.now - int64(g.choose(3, "hours"))*20*hourMillis,
		}
		if c := g.Model.byOrdinal(e.Campaign); c != nil && g.choose(4, "right percent") > 0 {
			e.Percent = c.HoldoutPercent
		}
		x.Users = append(x.Users, e)
	}
	return g.leveled(command.LevelHoldouts, "enrol", command.AppendEnrolUsers(nil, g.now, &x), func() command.Result { return g.Model.Enrol(&x) })
}

// HoldoutStep returns the next command of those about holdouts.
func (g *Generator) HoldoutStep() Step {
	g.tick()
	kinds := []func() Step{g.create, g.patch, g.patch, g.advance, g.enrol, g.enrol, g.enrol, g.enrol, g.enrol, g.forgetUser}
	return g.attempt(kinds[g.choose(len(kinds), "command")]())
}
