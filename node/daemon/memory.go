package daemon

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/gavel-ads/gavel/node/limits"
)

const (
	// hugePagesHeapMin is the heap in bytes from which huge pages are requested: for a smaller heap address translation
	// is fast without them, and a small node should not use more memory than it needs.
	hugePagesHeapMin = 64 << 20
	memoryInterval   = time.Second // How often the memory is measured.
	hugePagesTicks   = 60          // After so many measurements the advice is repeated, for memory that was mapped meanwhile.
	heapStep         = 4 << 20     // A smaller change of the heap's limit is not worth its cost.
	garbageStep      = 5           // A change of fewer percent neither.
)

// memorySupervisor keeps the process below memory.limit while it runs (limits.Shares.Hold), and its memory in huge pages as long as
// they fit. It belongs to one goroutine.
type memorySupervisor struct {
	memory int64
	shares limits.Shares
	chosen bool // GOMEMLIMIT is set, so that the heap's limit is the operator's.
	tuned  bool // GOGC is set, so that the garbage is.
	log    *slog.Logger

	read                     func() (limits.MemoryUse, error)
	setHeap                  func(int64) int64 // debug.SetMemoryLimit.
	setGarbage               func(int) int     // debug.SetGCPercent.
	objects                  func() uint64     // Bytes of objects in the heap.
	live                     func() uint64     // The part of them that the last collection has found in use.
	collapse, advise, forbid func() (limits.HugePageStats, error)

	heap      int64 // The limit that is set.
	garbage   int   // The percentage that is set.
	ticks     int
	moved     bool // Existing memory has been moved into huge pages.
	forbidden bool // Huge pages are not used any more: what is mapped never becomes less.
}

func (n *node) newMemorySupervisor() *memorySupervisor {
	return &memorySupervisor{
		memory: n.resources.memory, shares: n.resources.shares, chosen: n.resources.heapChosen, tuned: os.Getenv("GOGC") != "",
		log: n.log, read: limits.ReadMemoryUse, setHeap: debug.SetMemoryLimit, setGarbage: debug.SetGCPercent,
		objects: runtimeBytes("/memory/classes/heap/objects:bytes"), live: runtimeBytes("/gc/heap/live:bytes"),
		collapse: limits.CollapseHugePages, advise: limits.AdviseHugePages, forbid: limits.ForbidHugePages,
		heap:    debug.SetMemoryLimit(-1), // A negative limit only reads it.
		garbage: 100,
	}
}

// keepMemory moves the mapped memory into huge pages before the listeners open, because auctions would wait for the
// move, and starts the goroutine that measures the memory.
func (n *node) keepMemory() {
	k := n.newMemorySupervisor()
	k.tick()
	done := make(chan struct{})
	n.push("memory", func(context.Context) error { close(done); return nil })
	go func() {
		ticker := time.NewTicker(memoryInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				k.tick()
			}
		}
	}()
}

// tick measures once. Where the system does not tell what is resident, only huge pages are advised.
func (k *memorySupervisor) tick() {
	k.boundGarbage()
	huge := !k.forbidden
	if u, err := k.read(); err == nil {
		var heap int64
		heap, huge = k.shares.Hold(k.memory, u)
		if !k.chosen && max(heap-k.heap, k.heap-heap) >= heapStep {
			k.heap = heap
			k.setHeap(heap)
		}
	}
	if !huge && !k.forbidden {
		k.forbidden, k.ticks = true, 0
		k.log.Info("huge_pages_given_up", slog.Int64("memory_limit", k.memory), slog.String("why", "the process has mapped about as much memory as its limit"))
	}
	if k.ticks%hugePagesTicks == 0 {
		k.askForPages()
	}
	k.ticks++
}

// boundGarbage sets how far the heap may grow.
func (k *memorySupervisor) boundGarbage() {
	want := limits.GarbagePercent(int64(k.live())) // Far below 2^63.
	if !k.tuned && max(want-k.garbage, k.garbage-want) >= garbageStep {
		k.garbage = want
		k.setGarbage(want)
	}
}

// askForPages repeats the advice. The first time that the heap is large enough it moves existing memory, too.
func (k *memorySupervisor) askForPages() {
	ask := k.advise
	switch {
	case k.forbidden:
		ask = k.forbid
	case k.objects() < hugePagesHeapMin:
		return
	case !k.moved:
		ask = k.collapse
	}
	pages, err := ask()
	if err != nil {
		k.log.Warn("huge_pages_refused", slog.Any("err", err)) // The node works without them.
		return
	}
	if !k.forbidden && !k.moved {
		k.moved = true
		k.log.Info("huge_pages_enabled", slog.Int("pages", pages.Collapsed), slog.Int("refused", pages.Refused))
	}
}

// runtimeBytes returns a function that reads a metric of the Go runtime.
func runtimeBytes(name string) func() uint64 {
	return func() uint64 {
		sample := []metrics.Sample{{Name: name}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
}
