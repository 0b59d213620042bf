package driver_test

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

func TestProcessCPUOfThisProcess(t *testing.T) {
	began := driver.OwnCPU()
	for driver.OwnCPU()-began < 50*time.Millisecond {
		runtime.Gosched() // The loop uses CPU time, whatever else runs on the machine.
	}
	before := driver.OwnCPU()
	got, err := driver.ProcessCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const tick = 10 * time.Millisecond // User and system time are each rounded down to ticks.
	if after := driver.OwnCPU(); got > after || got <= before-2*tick {
		t.Errorf("/proc says %v, getrusage %v before and %v after", got, before, after)
	}
}

// The run time grows by what this process uses, and counts all of its threads.
func TestRunTimeOfThisProcess(t *testing.T) {
	before, err := driver.RunTime(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	const each = 20 * time.Millisecond
	var threads sync.WaitGroup
	for range 2 {
		threads.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for own := threadCPU(t); threadCPU(t)-own < each; {
				runtime.Gosched() // The goroutine keeps its thread.
			}
		})
	}
	threads.Wait()
	after, err := driver.RunTime(os.Getpid())
	if own := driver.OwnCPU(); err != nil || after-before < 2*each || after > own+time.Second {
		t.Errorf("%v, then %v of run time, getrusage says %v, %v", before, after, own, err)
	}
	if _, err := driver.RunTime(1 << 30); err == nil {
		t.Error("a process that is none has a run time")
	}
}

// threadCPU is the CPU time of the calling thread.
func threadCPU(t *testing.T) time.Duration {
	var u syscall.Rusage
	const thread = 1 // RUSAGE_THREAD, which package syscall does not name.
	if err := syscall.Getrusage(thread, &u); err != nil {
		t.Error(err)
		return time.Hour
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A process that has touched 64 MiB had at least as much resident, and the figure is in bytes.
func TestProcessPeakMemoryOfThisProcess(t *testing.T) {
	const size = 64 << 20
	touched := make([]byte, size)
	for i := 0; i < size; i += 4 << 10 {
		touched[i] = 1
	}
	got, err := driver.ProcessPeakMemory(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if got < size || got > 1<<40 {
		t.Errorf("%d bytes", got)
	}
	runtime.KeepAlive(touched)
}
