package main

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// pin binds every thread of this process to one CPU and reports whether it could. Threads that start later inherit it from
// the one that starts them; the second pass is for those that started during the first.
func pin(cpu int) bool {
	if runtime.NumCPU() < 2 {
		return false
	}
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return false
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return false
			}
			mask := [16]uint64{}
			mask[cpu/64] = 1 << (cpu % 64)
			_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(id), unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
			if errno != 0 && errno != syscall.ESRCH {
				return false
			}
		}
	}
	return true
}
