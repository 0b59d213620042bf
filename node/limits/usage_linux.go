package limits

import (
	"fmt"
	"os"
)

// ReadMemoryUse reads the memory of this process. It takes some microseconds. The error is that of reading /proc/self/statm.
func ReadMemoryUse() (u MemoryUse, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return u, err
	}
	var size int64
	if _, err := fmt.Sscan(string(text), &size, &u.Resident, &u.Shared); err != nil {
		return u, fmt.Errorf("/proc/self/statm: %w", err)
	}
	page := int64(os.Getpagesize())
	u.Resident, u.Shared = u.Resident*page, u.Shared*page
	u.readRuntime()
	return u, nil
}
