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
