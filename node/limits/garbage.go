package limits

const (
	// garbageMax is how far the heap of a large node grows beyond what lives before it is collected. BOUND: beyond 2.5 GiB that
	// live, a fifth of it. What lives there is mostly flat, so a collection of 2 GiB costs a tenth of a second of CPU.
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
