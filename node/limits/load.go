package limits

import "time"

// level is how busy the node is with requests on /v2.
type level uint8

const (
	quiet  level = iota // No auction and no event in the last window.
	served              // Some; management requests leave one CPU free and pause as long as they compute.
	busy                // So many that management requests are limited to their share of the CPUs.
)

const (
	// loadWindow is the time over which answered requests on /v2 are counted. Management requests may use every CPU again a
	// window after the last one.
	loadWindow = 50 * time.Millisecond
	// busyRate is the number of answered requests a second, for each CPU, from which a node is busy. They use about 5 % of
	// the CPU; below it one computing request disturbs no auction, because another CPU is free for it.
	busyRate = 250
)

// load samples the number of answered requests. It must not be used concurrently.
type load struct {
	answered func() uint64
	now      func() time.Time
	cpus     int

	counted uint64 // The number at the last sample.
	sampled time.Time
	last    level
}

// level returns how busy the node was in the last window that is over.
func (l *load) level() level {
	now := l.now()
	elapsed := now.Sub(l.sampled)
	if elapsed < loadWindow {
		return l.last
	}
	counted := l.answered()
	rate := float64(counted-l.counted) / elapsed.Seconds()
	switch {
	case counted == l.counted:
		l.last = quiet
	case rate < busyRate*float64(l.cpus):
		l.last = served
	default:
		l.last = busy
	}
	l.counted, l.sampled = counted, now
	return l.last
}
