package pacer

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/rollup"
)

// localHour is one hour of a marketplace's local time, as command.Traffic names it.
type localHour struct {
	cell       uint32
	hour       uint8 // Of the week.
	start, end int64 // In Unix seconds.
}

// hourAt returns the local hour that contains a moment. It lasts an hour, except where clocks change by half an hour in
// it: then the rest of it is another cell.
func hourAt(zone *time.Location, seconds int64) localHour {
	cellOf := func(seconds int64) (uint32, uint8) {
		_, offset := time.Unix(seconds, 0).In(zone).Zone()
		return command.CellOf(seconds, int64(offset))
	}
	var h localHour
	h.cell, h.hour = cellOf(seconds)
	h.start = seconds - seconds%rollup.CellSeconds
	h.end = h.start + rollup.CellSeconds
	for limit := h.start - command.TrafficMinutesMax*60; h.start > limit; h.start -= rollup.CellSeconds {
		if cell, _ := cellOf(h.start - 1); cell != h.cell {
			break
		}
	}
	for limit := h.start + command.TrafficMinutesMax*60; h.end < limit; h.end += rollup.CellSeconds {
		if cell, _ := cellOf(h.end); cell != h.cell {
			break
		}
	}
	return h
}

// minutes returns how long the hour lasts.
func (h *localHour) minutes() uint8 { return uint8((h.end - h.start) / 60) } // At most TrafficMinutesMax.

// hoursKept is the number of hours of a marketplace that a node remembers: the current one, and the one before for the
// leader of the meta group that proposes it, or for one that takes over.
const hoursKept = 2

// hourCount is the number of auctions of a marketplace in one local hour, by ad format.
type hourCount struct {
	cell     uint32
	auctions [model.AdFormats]uint64
}

// hourCounts are the auctions that this process has run, by local hour. It is safe for concurrent use.
type hourCounts struct {
	zone func(marketplace uint16) *time.Location

	mu      sync.Mutex            // LOCKS: guards what follows.
	since   int64                 // When counting began, in Unix seconds.
	counted map[trafficKey]uint64 // Totals of the process, as counted so far.
	markets map[uint16]*marketHours
}

// marketHours are the hours of one marketplace, the newest first.
type marketHours struct {
	end   int64 // Of the newest hour, in Unix seconds.
	hours [hoursKept]hourCount
}

// start begins to count.
func (c *hourCounts) start(now int64, zone func(uint16) *time.Location) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.zone, c.since = zone, now
	c.counted, c.markets = map[trafficKey]uint64{}, map[uint16]*marketHours{}
}

// count adds what the totals of this process have more than at the last call to the hours that contain now, in Unix
// seconds. It is called once a second, so that an hour is right to the auctions of a second.
func (c *hourCounts) count(now int64, totals []market.Traffic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range totals {
		m := c.markets[t.Marketplace]
		if m == nil {
			m = &marketHours{}
			c.markets[t.Marketplace] = m
		}
		if now >= m.end {
			h := hourAt(c.zone(t.Marketplace), now)
			copy(m.hours[1:], m.hours[:])
			m.end, m.hours[0] = h.end, hourCount{cell: h.cell}
		}
		key := trafficKey{t.Marketplace, t.Format}
		m.hours[0].auctions[t.Format] += t.Auctions - c.counted[key]
		c.counted[key] = t.Auctions
	}
}

// all returns since when this process counts, and the hours of all marketplaces, by marketplace.
func (c *hourCounts) all() (since int64, hours []marketHour) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for marketplace, m := range c.markets {
		for _, h := range m.hours {
			if h.cell > 0 {
				hours = append(hours, marketHour{marketplace, h})
			}
		}
	}
	slices.SortFunc(hours, func(a, b marketHour) int {
		return cmp.Or(cmp.Compare(a.marketplace, b.marketplace), cmp.Compare(a.cell, b.cell))
	})
	return c.since, hours
}
