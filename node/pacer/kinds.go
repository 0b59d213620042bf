package pacer

import (
	"time"

	"github.com/gavel-ads/gavel/shard/pacing"
)

// kindKey names a kind. Impressions are charged after another time than clicks.
type kindKey struct {
	trafficKey
	impressions bool
}

// kind is what all campaigns of a marketplace, an ad format and an event that they pay for have in common in one tick.
type kind struct {
	key      kindKey
	calendar *calendar // Nil while the marketplace has no periods.
	traffic  *formatCurve
	params   pacing.Params
	auctions uint64 // Of this tick.
	counted  uint64 // Since this node leads.
}

// kinds makes kinds when they are needed.
type kinds struct {
	l         *leader
	now       time.Time
	traffic   map[trafficKey]uint64
	calendars map[uint16]*calendar
	made      map[kindKey]*kind
}

func (l *leader) kinds(now time.Time, traffic map[trafficKey]uint64) *kinds {
	return &kinds{l, now, traffic, map[uint16]*calendar{}, map[kindKey]*kind{}}
}

func (k *kinds) of(key kindKey) *kind {
	x := k.made[key]
	if x == nil {
		c := &k.l.p.c
		x = &kind{
			key: key, calendar: k.calendar(key.marketplace), auctions: k.traffic[key.trafficKey], counted: k.l.auctions[key.trafficKey],
			traffic: k.l.curves.of(key.trafficKey, c.Zone(key.marketplace), k.now), params: *c.Params,
		}
		x.params.ClickDelay = c.Params.ImpressionDelay
		if !key.impressions {
			learned := c.Market.ClickDelay(k.l.group, key.marketplace)
			x.params.ClickDelay = float64(learned.Millis()) / 1000
		}
		k.made[key] = x
	}
	return x
}

// calendar returns the calendar of a marketplace, nil when it has no periods yet.
func (k *kinds) calendar(marketplace uint16) *calendar {
	c := k.calendars[marketplace]
	periods, known := k.l.steered.periods[marketplace]
	if c == nil && known {
		made := newCalendar(periods, k.l.p.c.Zone(marketplace), k.now)
		c = &made
		k.calendars[marketplace] = c
	}
	return c
}
