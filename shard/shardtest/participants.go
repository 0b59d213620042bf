package shardtest

import (
	"maps"
	"slices"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/event"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/money"
)

// participant is a user of an experiment on a day in the model. The start names the experiment.
type participant struct {
	market uint16
	user   uint64
	day    int64
	start  int64
}

// participate counts what an interaction, or a purchase that was charged, did to its user.
func (m *Model) participate(marketplace uint16, user uint64, at int64, kind event.Kind, charged money.Micros) {
	settings := m.Marketplaces[marketplace]
	if settings == nil || settings.Experiment.Percent == 0 || kind == event.Pageview || kind == event.Purchase && charged == 0 {
		return
	}
	e, arms := &settings.Experiment, market.ArmsOf(settings)
	key := participant{marketplace, user, at / dayMillis, e.StartMillis}
	first := max(m.Now/dayMillis-enrolmentDays+1, m.touchesFrom[marketplace], m.firstTouchDay(marketplace))
	if at < e.StartMillis || e.EndMillis != 0 && at >= e.EndMillis || arms.Arm(user) == market.Unmeasured ||
		key.day < first || key.day > m.Now/dayMillis+1 {
		return
	}
	onDay, replaces := 0, false
	for other := range m.participants {
		if other.day == key.day {
			onDay++
			replaces = replaces || other.market == marketplace && other.user == user
		}
	}
	if !replaces && onDay >= m.ParticipantsMax {
		return
	}
	maps.DeleteFunc(m.participants, func(p participant, _ shard.Participant) bool {
		replaced := p.market == marketplace && p.user == user && p.day == key.day && p.start != key.start
		if replaced {
			m.Replaced++
		}
		return replaced
	})
	p := m.participants[key]
	p.User = user
	switch kind {
	case event.Impression:
		p.Impressions++
	case event.Click:
		p.Clicks++
	default:
	}
	p.Spent = min(p.Spent+charged, money.MaxMicros)
	m.participants[key] = p
}

// purgeParticipants drops what is not kept any more.
func (m *Model) purgeParticipants() {
	maps.DeleteFunc(m.participants, func(p participant, _ shard.Participant) bool {
		return p.day < max(m.Now/dayMillis-enrolmentDays+1, m.touchesFrom[p.market])
	})
}

// compareParticipants compares what the users of all experiments did, also of those that were replaced.
func (m *Model) compareParticipants(b shard.Queries, fail func(string, ...any)) {
	for marketplace, settings := range m.Marketplaces {
		for start := range int64(experiments) {
			for day := max(0, m.Now/dayMillis-enrolmentDays+1); day <= m.Now/dayMillis+1; day++ {
				var got, want []shard.Participant
				b.Participants(marketplace, uint32(day), start, func(p *shard.Participant) bool { // Days fit 32 bits.
					got = append(got, *p)
					return true
				})
				for user := range uint64(linkedUsers) {
					if p, known := m.participants[participant{marketplace, user, day, start}]; known {
						want = append(want, p)
					}
				}
				if !slices.Equal(got, want) {
					fail("marketplace %d %+v has on day %d the participants %+v, not %+v", marketplace, settings.Experiment, day, got, want)
				}
			}
		}
	}
}

// ExperimentStep returns the next command of those about experiments.
func (g *Generator) ExperimentStep() Step {
	g.tick()
	if len(g.Model.Campaigns) == 0 { // Without campaigns no event is counted.
		return g.attempt(g.create())
	}
	kinds := []func() Step{ // Small numbers are chosen more often.
		g.events, g.events, g.nextExperiment, g.events, g.events, g.events, g.create, g.adjust, g.advance, g.marketplace, g.credits,
		g.forgetUser,
	}
	return g.attempt(kinds[g.choose(len(kinds), "command")]())
}

// ParticipantDays returns how many days of users the model counts in experiments, with something charged or without.
func (m *Model) ParticipantDays() (charged, free int) {
	for _, p := range m.participants {
		if p.Spent > 0 {
			charged++
		} else {
			free++
		}
	}
	return charged, free
}

// nextExperiment ends the experiment of a marketplace and begins another one, in which every user takes part.
func (g *Generator) nextExperiment() Step {
	now := g.Model.Marketplaces[g.market()]
	if now == nil || g.Model.Level < command.LevelExperiments {
		return g.marketplace()
	}
	next := *now
	next.Experiment = model.Experiment{Name: "e", Percent: 50, StartMillis: (now.Experiment.StartMillis + 1) % experiments}
	return Step{Name: "next experiment", Command: command.AppendPutMarketplace(nil, g.now, &next), Result: g.Model.Marketplace(next)}
}

// experiments is the number of experiments of a generator. They begin in the first milliseconds of 1970, so that all events
// are after their starts, or end a while ago.
const experiments = 3

// experiment returns a random experiment, or none.
func (g *Generator) experiment() model.Experiment {
	if g.Model.Level < command.LevelExperiments || g.choose(3, "experiment") == 0 {
		return model.Experiment{}
	}
	e := model.Experiment{
		Name: "e", Percent: uint8(30 + 20*g.choose(2, "share")), Treatment: model.Treatment(g.choose(model.Treatments, "treatment")),
		StartMillis: int64(g.choose(experiments, "experiment's number")),
	}
	if g.choose(3, "has ended") == 0 {
		e.EndMillis = g.now - int64(g.choose(3, "hours ago"))*20*hourMillis
	}
	return e
}
