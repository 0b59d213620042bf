//go:build !linux

package limits

import "time"

// threadCPU reports that the CPU time of a thread is not known.
func threadCPU() (time.Duration, bool) { return 0, false }
