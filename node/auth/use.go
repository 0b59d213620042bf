package auth

import (
	"sync/atomic"
	"time"
)

// use counts the requests that this node accepted a key for. Checks write it, so it lies outside the map of the keys and survives
// copies of it.
//
// A check stores the minute when one has begun, and when a UTC day has begun, what total was before it. Result.Count adds one to total:
// a key may be checked twice for a request, before its body is read and after. Requests that run while a day begins may be counted for
// either day.
type use struct {
	minute   atomic.Int64 // Of the Unix time, in which the key was last accepted; 0: not since the node started.
	total    atomic.Int64 // Requests since the node started.
	day      atomic.Int64 // The UTC day of the last check, in days of the Unix time.
	before   atomic.Int64 // total when that day began.
	previous atomic.Int64 // The requests of the day before it.
}

const minutesOfDay = 24 * 60

func (u *use) accept(at time.Time) {
	if minute := at.Unix() / 60; u.minute.Load() != minute { // A load is cheap; a store takes the cache line from the other workers.
		u.beginDay(minute / minutesOfDay)
		u.minute.Store(minute)
	}
}

// beginDay sets the counts of a day that has begun. Only one caller does it. A clock that goes back begins no day.
func (u *use) beginDay(day int64) {
	last := u.day.Load()
	if day <= last || !u.day.CompareAndSwap(last, day) {
		return
	}
	total := u.total.Load()
	before := u.before.Swap(total)
	if day != last+1 {
		before = total // Nothing was accepted yesterday.
	}
	u.previous.Store(total - before)
}

// days returns the requests of the UTC day at a time, and of the day before it.
func (u *use) days(at time.Time) (today, yesterday int64) {
	day := at.Unix() / 60 / minutesOfDay
	counted := u.total.Load() - u.before.Load()
	switch u.day.Load() {
	case day:
		return counted, u.previous.Load()
	case day - 1:
		return 0, counted
	default:
		return 0, 0
	}
}
