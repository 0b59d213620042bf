package pacer

import (
	"slices"
	"time"

	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/model"
	"github.com/gavel-ads/gavel/shard/pacing"
)

// curves makes the curves that the plans of a group's campaigns follow: of each ad format what the marketplace has learned
// of its traffic, with the operator's factors of single dates; of a campaign with a schedule the same in its own hours. One
// goroutine uses it.
type curves struct {
	market  *market.Market
	formats map[trafficKey]*formatCurve
	// cells is the number of cells of all curves of schedules.
	cells int
}

func newCurves(m *market.Market) curves {
	return curves{market: m, formats: map[trafficKey]*formatCurve{}}
}

// formatCurve is the curve of an ad format, and those of the schedules of its campaigns.
type formatCurve struct {
	weights   pacing.Weights
	dates     []pacing.DateFactor
	settings  []model.TrafficDate // What dates are made of.
	zone      *time.Location
	made      time.Time
	curve     *pacing.Curve
	schedules map[scheduleKey]*pacing.Curve // Since made.
}

// scheduleKey names a set of hours of the week for budgets of a period: the longer it is, the longer the curve.
type scheduleKey struct {
	hours weekHours
	daily bool
}

const (
	// curveAge is the time after which a curve is made again, so that it covers the current periods.
	curveAge = 12 * time.Hour
	// dailyHorizon is what the curve of a schedule covers for daily budgets: the day and curveAge.
	dailyHorizon = 48 * 3600 * 1000
	// scheduleCellsMax bounds the memory of the curves of schedules. BOUND: 32 MB, for more than 10,000 different schedules
	// of daily budgets or 600 of longer ones. A campaign beyond it follows the curve of its format, and is only paused in the
	// hours without bids.
	scheduleCellsMax = 4 << 20
	quarterMillis    = 15 * 60 * 1000
)

// of returns the curve of an ad format as it is now. It is called once a second for each.
func (c *curves) of(key trafficKey, zone *time.Location, now time.Time) *formatCurve {
	f := c.formats[key]
	weights := c.market.ExpectedTraffic(key.marketplace, key.format)
	var settings []model.TrafficDate
	if m := c.market.View().Marketplace(key.marketplace); m != nil {
		settings = m.TrafficDates
	}
	if f != nil && now.Sub(f.made).Abs() < curveAge && f.weights == weights && f.zone == zone && slices.Equal(f.settings, settings) {
		return f
	}
	if f != nil {
		for key := range f.schedules {
			c.cells -= key.cells()
		}
	}
	f = &formatCurve{weights: weights, settings: settings, zone: zone, made: now, schedules: map[scheduleKey]*pacing.Curve{}}
	f.dates = dateFactors(settings, now, zone)
	f.curve = f.make(&f.weights, pacing.Horizon)
	c.formats[key] = f
	return f
}

// dateFactors returns the factors of the dates that a curve may cover.
func dateFactors(all []model.TrafficDate, now time.Time, zone *time.Location) (near []pacing.DateFactor) {
	const days = pacing.Horizon/(24*3600*1000) + 2
	_, offset := now.In(zone).Zone()
	today := (now.Unix() + int64(offset)) / (24 * 3600)
	for _, d := range all {
		if day := int64(d.Day); day >= today-days && day <= today+days {
			near = append(near, pacing.DateFactor{Day: day, Factor: float64(d.FactorMilli) / 1000})
		}
	}
	return near
}

// make returns a curve around the time at which f was made.
func (f *formatCurve) make(w *pacing.Weights, horizonMillis int64) *pacing.Curve {
	now := f.made.UnixMilli()
	return pacing.NewCurve(w, offsets(f.zone), f.dates, now-horizonMillis, now+horizonMillis)
}

// during returns the curve of a campaign with a schedule, which competes in some hours of the week only.
func (c *curves) during(f *formatCurve, s *settings) *pacing.Curve {
	key := scheduleKey{hours: s.hours, daily: s.period == model.Daily}
	if curve, known := f.schedules[key]; known {
		return curve
	}
	if c.cells+key.cells() > scheduleCellsMax {
		return f.curve
	}
	var active [pacing.HoursOfWeek]bool
	for hour := range active {
		active[hour] = key.hours.has(hour)
	}
	weights := f.weights.During(&active)
	curve := f.make(&weights, key.horizon())
	f.schedules[key] = curve
	c.cells += key.cells()
	return curve
}

// horizon is the time that a curve covers in both directions, in milliseconds.
func (k *scheduleKey) horizon() int64 {
	if k.daily {
		return dailyHorizon
	}
	return pacing.Horizon
}

// cells is the number of cells of a curve.
func (k *scheduleKey) cells() int { return int(2 * k.horizon() / quarterMillis) }

// weekHours is a set of hours of the week, as bits.
type weekHours [pacing.HoursOfWeek / 8]byte

// allHours has every hour of the week.
var allHours = hoursOf(nil)

// hoursOf returns the hours of the week in which a schedule has bids.
func hoursOf(schedule []uint16) (hours weekHours) {
	for i := range hours {
		hours[i] = 0xff
	}
	for hour, factor := range schedule[:min(len(schedule), pacing.HoursOfWeek)] {
		if factor == 0 {
			hours[hour/8] &^= 1 << (hour % 8)
		}
	}
	return hours
}

// has reports whether an hour of the week is in the set.
func (h *weekHours) has(hour int) bool { return h[hour/8]>>(hour%8)&1 == 1 }
