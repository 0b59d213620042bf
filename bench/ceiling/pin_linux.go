package main

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// pin binds every thread of this process to one CPU and reports whether that succeeded. A thread that starts later inherits
// the binding from the one that starts it; the second pass covers threads that started during the first.
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
