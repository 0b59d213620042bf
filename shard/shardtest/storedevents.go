package shardtest

import (
	"bytes"
	"maps"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
)

// eventDay is a UTC day of a marketplace that keeps its events in the model.
type eventDay struct {
	market uint16
	day    int64
}

// keepEvent keeps an event that was new, with what became of it.
func (m *Model) keepEvent(marketplace uint16, r command.EventRecord, result command.EventResult) {
	key := eventDay{marketplace, m.Now / dayMillis}
	if x := m.Marketplaces[marketplace]; x == nil || x.EventDays == 0 || len(m.keptEvents[key]) == m.EventsMax {
		return
	}
	r.UserHash = 0
	m.keptEvents[key] = append(m.keptEvents[key], shard.StoredEvent{
		CommittedMillis: m.Now, Outcome: result.Outcome, Charged: result.Charged, EventRecord: r,
	})
}

// purgeEvents drops the days that are not kept any more.
func (m *Model) purgeEvents() {
	before := len(m.keptEvents)
	maps.DeleteFunc(m.keptEvents, func(k eventDay, _ []shard.StoredEvent) bool {
		return k.day <= m.Now/dayMillis-int64(m.Marketplaces[k.market].EventDays)
	})
	m.droppedEvents += before - len(m.keptEvents)
}

// KeptEvents returns how many days the model has events of, how many of them are full, and how many were dropped.
func (m *Model) KeptEvents() (days, full, dropped int) {
	for _, all := range m.keptEvents {
		if len(all) == m.EventsMax {
			full++
		}
	}
	return len(m.keptEvents), full, m.droppedEvents
}

// compareEvents compares the events of each marketplace and day.
func (m *Model) compareEvents(b shard.Queries, fail func(string, ...any)) {
	for market := uint16(1); market <= 2; market++ {
		for day := m.Now/dayMillis - eventDaysMax - 1; day <= m.Now/dayMillis+1; day++ {
			m.compareEventsOf(b, eventDay{market, max(day, 0)}, fail)
		}
	}
}

func (m *Model) compareEventsOf(b shard.Queries, of eventDay, fail func(string, ...any)) {
	var got []shard.StoredEvent
	b.Events(of.market, uint32(of.day), 0, func(number uint32, e *shard.StoredEvent) bool { // Days fit 32 bits.
		if int(number) != len(got) {
			fail("event %d of %+v has the number %d", len(got), of, number)
		}
		got = append(got, *e)
		return true
	})
	want := m.keptEvents[of]
	if len(got) != len(want) {
		fail("%+v has %d events, not %d", of, len(got), len(want))
		return
	}
	for i := range got {
		g, w := &got[i], &want[i]
		if g.CommittedMillis != w.CommittedMillis || g.Outcome != w.Outcome || g.Charged != w.Charged ||
			!bytes.Equal(command.AppendEventRecord(nil, &g.EventRecord), command.AppendEventRecord(nil, &w.EventRecord)) {
			fail("event %d of %+v is %+v, not %+v", i, of, *g, *w)
		}
		for _, at := range []int64{w.CommittedMillis, w.CommittedMillis + 1} {
			if first, n := b.FirstEvent(of.market, uint32(of.day), at), firstAt(want, at); int(first) != n { // Days fit 32 bits.
				fail("the first event of %+v at %d is %d, not %d", of, at, first, n)
			}
		}
	}
}

// firstAt returns the number of the first event at a time or later.
func firstAt(all []shard.StoredEvent, millis int64) int {
	for i := range all {
		if all[i].CommittedMillis >= millis {
			return i
		}
	}
	return len(all)
}

// eventDaysMax is the longest time for which marketplaces of a generator keep events, in days.
const eventDaysMax = 3

// eventDays returns for how many days a marketplace keeps its events.
func (g *Generator) eventDays() uint8 {
	if g.Model.Level < command.LevelEvents {
		return 0
	}
	return []uint8{eventDaysMax, 2, 0}[g.choose(3, "event days")]
}

// KeptEventStep returns the next command of those about events that are kept.
func (g *Generator) KeptEventStep() Step {
	g.tick()
	if len(g.Model.Campaigns) == 0 {
		return g.attempt(g.create())
	}
	kinds := []func() Step{ // Small numbers are chosen more often.
		g.events, g.events, g.advance, g.events, g.events, g.marketplace, g.events, g.create, g.adjust,
	}
	return g.attempt(kinds[g.choose(len(kinds), "command")]())
}
