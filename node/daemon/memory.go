package daemon

import (
	"context"
	"log/slog"
	"runtime/metrics"
	"time"

	"github.com/gavel-ads/gavel/node/limits"
)

const (
	// hugePagesHeapMin is the heap in bytes from which huge pages are requested: for a smaller heap address translation
	// is fast without them, and a small node should not use more memory than it needs.
	hugePagesHeapMin = 64 << 20
	// hugePagesInterval is how often the node looks for newly mapped memory.
	hugePagesInterval = time.Minute
)

// useHugePages moves the mapped memory into huge pages before the listeners open, because auctions would wait for the
// move, and starts a goroutine that requests them for memory mapped later.
func (n *node) useHugePages() {
	moved := n.moveToHugePages(false)
	done := make(chan struct{})
	n.push("huge pages", func(context.Context) error { close(done); return nil })
	go func() {
		ticker := time.NewTicker(hugePagesInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				moved = n.moveToHugePages(moved)
			}
		}
	}()
}

// moveToHugePages moves the mapped memory the first time that the heap is large enough; later calls only advise the
// kernel. It returns whether memory has been moved yet.
func (n *node) moveToHugePages(moved bool) bool {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap); heap[0].Value.Uint64() < hugePagesHeapMin {
		return moved
	}
	ask := limits.CollapseHugePages
	if moved {
		ask = limits.AdviseHugePages
	}
	pages, err := ask()
	if err != nil {
		n.log.Warn("huge_pages_refused", slog.Any("err", err)) // The node works without them.
		return moved
	}
	if !moved {
		n.log.Info("huge_pages_enabled", slog.Int("pages", pages.Collapsed), slog.Int("refused", pages.Refused))
	}
	return true
}
