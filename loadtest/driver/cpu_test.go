package driver_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/loadtest/driver"
)

func TestProcessCPUOfThisProcess(t *testing.T) {
	before := driver.OwnCPU()
	for driver.OwnCPU()-before < 50*time.Millisecond {
		runtime.Gosched() // The loop uses CPU time, whatever else runs on the machine.
	}
	got, err := driver.ProcessCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if own := driver.OwnCPU(); got > own || got < 50*time.Millisecond {
		t.Errorf("/proc says %v, getrusage %v", got, own)
	}
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
