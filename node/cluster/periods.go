package cluster

import (
	"time"

	"github.com/gavel-ads/gavel/shard/command"
)

// PeriodsAt returns the numbers of the budget periods of a marketplace that contain an instant, in the marketplace's
// time zone. Days count from 1970-01-01 of the local calendar, weeks start on Monday, months are year*12 + month. A
// later period always has a larger number, also when clocks change at night.
func PeriodsAt(marketplace uint16, at time.Time, zone *time.Location) command.Periods {
	year, month, day := at.In(zone).Date()
	days := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / (24 * 3600)
	return command.Periods{
		Marketplace: marketplace,
		Day:         uint32(days),           // Days since 1970 fit for 11 million years.
		Week:        uint32((days + 3) / 7), // 1970-01-01 was a Thursday.
		Month:       uint32(year*12) + uint32(month),
	}
}
