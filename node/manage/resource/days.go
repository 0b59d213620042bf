package resource

import (
	"strconv"
	"time"

	"github.com/gavel-ads/gavel/node/store"
)

// DaysMax is the most days of one report. BOUND: the interface's.
const DaysMax = 366

// Days reads the inclusive days of a report, and checks what a schema cannot check: their order and their distance. REQUIRES: the
// kit has checked the format of both.
func Days(start, end string) (store.Dates, error) { return DaysWithin(start, end, DaysMax) }

// DaysWithin is Days for a report of another most number of days.
func DaysWithin(start, end string, most int) (store.Dates, error) {
	from, errFrom := time.Parse(time.DateOnly, start)
	to, errTo := time.Parse(time.DateOnly, end)
	if errFrom != nil || errTo != nil {
		panic("the kit has checked these dates")
	}
	const day = 24 * time.Hour
	switch {
	case to.Before(from):
		return store.Dates{}, Invalid(At("value_error", "must not be before start_date", "query", "end_date"))
	case to.Sub(from)/day >= time.Duration(most):
		return store.Dates{}, Invalid(At("value_error", "must be at most "+strconv.Itoa(most)+" days with start_date", "query", "end_date"))
	}
	return store.Dates{From: start, To: end}, nil
}
