package limits

const (
	// garbageMax is how far the heap of a large node grows beyond what lives before it is collected. BOUND: beyond 2.5 GiB that
	// live, a fifth of it. What lives there has few pointers, so collections are cheap: loading 15 million items took 360 s of
	// CPU instead of 355 (bench/results/2026-11-29-large.md).
	garbageMax = 512 << 20
	// garbagePercentMin bounds how often a very large heap is collected.
	garbagePercentMin = 20
)

// GarbagePercent returns how far the heap may grow beyond the bytes that live, in percent (GOGC): to twice as much, as is usual,
// and a large one by garbageMax. A market of gigabytes would otherwise need gigabytes more for garbage.
func GarbagePercent(live int64) int {
	if live <= garbageMax {
		return 100
	}
	return max(int(100*garbageMax/live), garbagePercentMin)
}
