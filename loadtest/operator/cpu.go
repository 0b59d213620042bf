package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// cpuOf returns the user and system time that a process has used, to 10 ms; 0 where the system does not have it.
func cpuOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold spaces; utime and stime are fields 14 and 15, the name is field 2.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const utime, stime = 14 - 3, 15 - 3
	var ticks int64
	for _, i := range []int{utime, stime} {
		if i >= len(fields) {
			return 0
		}
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on.
}
