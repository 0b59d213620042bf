package shardtest

import (
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
)

// linked is a link between two users.
type linked struct {
	command.LinkUsers
	millis int64
}

const dayMillis = 24 * hourMillis

// onDay reports whether a link was made on the day of another one.
func (l *linked) onDay(of *linked) bool {
	return l.Marketplace == of.Marketplace && l.millis/dayMillis == of.millis/dayMillis
}

// Link applies a LinkUsers.
func (m *Model) Link(x *command.LinkUsers) command.Result {
	if x.From == 0 || x.To == 0 || x.From == x.To {
		return command.Result{Refusal: command.Invalid}
	}
	fresh := linked{*x, m.Now}
	if slices.ContainsFunc(m.links, func(l linked) bool { return l.onDay(&fresh) && l.LinkUsers == *x }) {
		return command.Result{}
	}
	m.links = append(m.links, fresh)
	m.dropOldest(func(l *linked) bool { return l.onDay(&fresh) && l.To == x.To })
	m.dropOldest(func(l *linked) bool { return l.onDay(&fresh) && l.From == x.From })
	return command.Result{}
}

// dropOldest removes the oldest of some links if there are more than LinksMax.
func (m *Model) dropOldest(of func(*linked) bool) {
	first, n := -1, 0
	for i := range m.links {
		if of(&m.links[i]) {
			if first < 0 {
				first = i
			}
			n++
		}
	}
	if n > m.LinksMax {
		m.links = slices.Delete(m.links, first, first+1)
	}
}

// ForgetUser applies a ForgetUser without a segment.
func (m *Model) ForgetUser(x *command.ForgetUser) command.Result {
	if x.User == 0 {
		return command.Result{Refusal: command.Invalid}
	}
	m.touched = slices.DeleteFunc(m.touched, func(t touched) bool { return t.market == x.Marketplace && t.UserHash == x.User })
	m.validClicks = slices.DeleteFunc(m.validClicks, func(v validClick) bool { return v.market == x.Marketplace && v.user == x.User })
	m.links = slices.DeleteFunc(m.links, func(l linked) bool { return l.Marketplace == x.Marketplace && (l.From == x.User || l.To == x.User) })
	m.forgetBuyers(func(e *Counted) bool { return e.Market == x.Marketplace && e.buyer == x.User })
	maps.DeleteFunc(m.enrolled, func(e enrolled, _ command.Enrolment) bool { return e.market == x.Marketplace && e.user == x.User })
	maps.DeleteFunc(m.participants, func(p participant, _ shard.Participant) bool { return p.market == x.Marketplace && p.user == x.User })
	for name, o := range m.Purchases {
		if o.Marketplace != x.Marketplace {
			continue
		}
		if o.UserHash == x.User && !o.Decided {
			delete(m.Purchases, name)
			continue
		}
		if o.UserHash == x.User {
			o.UserHash = 0
		}
		o.Credits = slices.Clone(o.Credits)
		for i := range o.Credits {
			if o.Credits[i].UserHash == x.User {
				o.Credits[i].UserHash = 0
			}
		}
	}
	return command.Result{}
}

// firstTouchDay is the first day of which a marketplace keeps touches.
func (m *Model) firstTouchDay(marketplace uint16) int64 {
	days := int64(keptDays)
	if x := m.Marketplaces[marketplace]; x != nil && x.TouchDays > 0 {
		days = int64(x.TouchDays)
	}
	return m.Now/dayMillis - days + 1
}

// purgeTouches applies the setting of each marketplace.
func (m *Model) purgeTouches() {
	for marketplace, x := range m.Marketplaces {
		if x.TouchDays > 0 && x.TouchDays < keptDays {
			m.touchesFrom[marketplace] = max(m.touchesFrom[marketplace], m.firstTouchDay(marketplace))
		}
	}
	m.touched = slices.DeleteFunc(m.touched, func(t touched) bool { return t.OccurredMillis/dayMillis < m.touchesFrom[t.market] })
	m.forgetBuyers(func(e *Counted) bool { return e.opened/dayMillis < m.touchesFrom[e.Market] })
	m.purgeEnrolments()
	m.purgeParticipants()
}

// compareLinks compares the links to each user.
func (m *Model) compareLinks(b shard.Queries, fail func(string, ...any)) {
	for marketplace := uint16(1); marketplace <= 2; marketplace++ {
		for user := uint64(1); user < linkedUsers; user++ {
			var got, want []uint64
			b.LinkedTo(marketplace, user, m.Now, func(from uint64) bool {
				got = append(got, from)
				return true
			})
			for _, l := range slices.Backward(m.links) {
				if l.Marketplace == marketplace && l.To == user && l.millis/dayMillis >= m.Now/dayMillis-(keptDays-2) {
					want = append(want, l.From)
				}
			}
			if !slices.Equal(got, want) {
				fail("users %v are linked to user %d of marketplace %d, not %v", got, user, marketplace, want)
			}
		}
	}
}

// linkedUsers are the users of links, 0 included, which is nobody. Those below 3 report events.
const linkedUsers = 5

// UserStep returns a command about users: what they do, their links, and that they are erased.
func (g *Generator) UserStep() Step {
	g.tick()
	kinds := []func() Step{
		g.events, g.events, g.events, g.events, g.create, g.adjust, g.advance, g.credits, g.credits, g.link, g.link, g.link, g.forgetUser,
	}
	return g.attempt(kinds[g.choose(len(kinds), "command")]())
}

func (g *Generator) link() Step {
	x := command.LinkUsers{Marketplace: g.market(), From: uint64(g.choose(linkedUsers, "from")), To: uint64(g.choose(linkedUsers, "to"))}
	return g.leveled(command.LevelUsers, "link", command.AppendLinkUsers(nil, g.now, &x), func() command.Result { return g.Model.Link(&x) })
}

func (g *Generator) forgetUser() Step {
	x := command.ForgetUser{Marketplace: g.market(), User: uint64(g.choose(linkedUsers, "erased user"))}
	return g.leveled(command.LevelUsers, "forget user", command.AppendForgetUser(nil, g.now, &x), func() command.Result { return g.Model.ForgetUser(&x) })
}
