package daemon

import (
	"os"
	"runtime"
	"sync"
)

// threadsPerCPU is how many goroutines may run at a time on each CPU. With one, an auction that becomes ready waits until a
// goroutine that computes is preempted by the runtime, after 10 ms, once for each such goroutine before it. With two, it finds
// an idle thread at once, and the operating system, which prefers threads that have slept, lets that one run. Beside
// attackers on two CPUs the p99 of auctions was 48 ms instead of 2.4 s (bench/results/2026-11-22-hostile.md).
const threadsPerCPU = 2

// cpus is how many CPUs this process may use, by the machine and its cgroup, as the runtime found them at the start.
var cpus = sync.OnceValue(func() int { return runtime.GOMAXPROCS(0) })

// useThreads sets how many goroutines run at a time, unless GOMAXPROCS of the environment has done so.
var useThreads = sync.OnceFunc(func() {
	if n := cpus(); os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(threadsPerCPU * n)
	}
})
