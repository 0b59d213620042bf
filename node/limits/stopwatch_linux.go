package limits

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU returns the CPU time that the calling thread has used up to now. It takes 0.3 µs. Getrusage is no replacement: what it
// knows may be as old as the last tick of the system's scheduler.
func threadCPU() (time.Duration, bool) {
	var used unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used) != nil {
		return 0, false
	}
	return time.Duration(used.Nano()), true
}
